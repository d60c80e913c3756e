#include "launch/app/commands.hpp"

#include "launch/app/agent_loop.hpp"
#include "launch/app/head_facts.hpp"
#include "launch/app/head_run.hpp"
#include "launch/app/remote_run.hpp"
#include "launch/app/settle_line.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/config/hosts_explain.hpp"
#include "launch/core/options/help.hpp"
#include "launch/core/workers/explain.hpp"
#include "launch/io/background.hpp"
#include "launch/io/detach.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "launch/io/guard.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"
#include "launch/io/signals.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr int few_files = 32;        // that are open without workers
constexpr int files_per_worker = 4;  // its pidfd, and pipes or files of its output

// The last thing that a process does. After a failure it waits longer, for a reader of the verdict that sleeps.
int leave(int code) {
  flush_log(code == 0 ? 1s : 10s);
  return code;
}

int fail(const Error& error) {
  log_error(error.message);
  return leave(exit_code(error.code));
}

// Prints what was asked for instead of a job.
int show(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return 0;
  if (errno == EPIPE) return 1;  // the reader has seen enough
  return fail({ErrorCode::system, fmt::format("cannot write to the standard output: {}", std::strerror(errno))});
}

asio::awaitable<void> run_to_end(AgentLoop& loop, asio::io_context& context, int& code) {
  code = co_await loop.run();
  context.stop();
}

int explain(const Options& options, const Config& config, const Environment& env) {
  const std::string text =
      options.explain.value == "json" ? explain_json(options, config, env) : explain_text(options, config, env);
  const int code = show(text);
  const std::string& fault = config.program.fault;
  return code != 0 || fault.empty() ? code : fail({ErrorCode::usage, fault});
}

int run_job(Config config, SignalPlan& signals) {
  const Guarded guarded = stand_guard(signals);
  if (guarded.exit_code) return leave(*guarded.exit_code);
  if (!config.start.empty()) log_info(config.start);
  for (const std::string& notice : config.notices) log_warning(notice);
  const rlimit open_files = raise_open_files(few_files + files_per_worker * config.nproc_per_node);
  // Never destroyed: its destructor would wait for a look-up in the system's resolver that we have given up.
  asio::io_context& context = *new asio::io_context(1);
  config.pid = guarded.guard == 0 ? ::getpid() : guarded.guard;
  const auto job = std::make_shared<Config>(std::move(config));
  AgentLoop loop(context.get_executor(), job, {signals, guarded.guard, open_files});
  int code = 1;
  run_in_background(context.get_executor(), run_to_end(loop, context, code));
  context.run();
  leave(code);
  announce_end(guarded.guard, code);
  return code;
}

// In the process that the user started: what has become of the one in the background.
int tell_background(const BackgroundStart& start, const HostsPlan& plan) {
  std::string report;
  if (!plan.verdict.file.empty()) report = fmt::format("report  {} (if the job fails)\n", plan.verdict.file);
  if (start.begun)
    return show(fmt::format("run id  {0}\npid     {1} (kill {1} stops the job)\noutput  {2}\n{3}", plan.head.run_id,
                            start.pid, plan.detach_file, report));
  write_all(STDERR_FILENO, start.said);
  return start.exit_code;
}

int run_detached(HostsPlan plan, const Environment& env, SignalPlan& signals) {
  auto started = detach(plan.detach_file);
  if (!started) return fail(usage_error(fmt::format("--detach {}: {}", plan.detach_file, started.error().message)));
  if (started->start) return tell_background(*started->start, plan);
  open_log();  // in the file
  set_verbosity(plan.verbosity);
  if (const Status removed = remove_old(plan.verdict.file); !removed)
    log_warning(
        fmt::format("{} is of an earlier job and cannot be removed: {}", plan.verdict.file, removed.error().message));
  const auto begun = std::make_shared<Fd>(std::move(started->begun));
  return leave(run_head(std::move(plan), env, signals, [begun] { say_begun(*begun); }));
}

// The process that starts a launch on each of several hosts.
int start_hosts(const std::vector<std::string>& args, const Options& options, const Environment& env,
                SignalPlan& signals) {
  const auto line = read_option_line(args);
  if (!line) return fail(line.error());
  const auto facts = read_head_facts(options, env);
  if (!facts) return fail(facts.error());
  auto plan = plan_hosts(options, *line, *facts);
  if (!plan) return fail(plan.error());
  set_verbosity(plan->verbosity);
  if (!options.explain.value.empty())
    return show(options.explain.value == "json" ? hosts_json(*plan) : hosts_text(*plan));
  if (!plan->detach_file.empty()) return run_detached(*std::move(plan), env, signals);
  return leave(run_head(*std::move(plan), env, signals, [] {}));
}

// The exit code, if something else than a job is asked for.
std::optional<int> answer(const Command& command, const Environment& env, SignalPlan& signals) {
  if (const auto* text = std::get_if<TextCommand>(&command)) return show(text->text);
  if (const auto* help = std::get_if<HelpCommand>(&command)) return show(text_of(*help, columns_of(STDOUT_FILENO)));
  if (const auto* remote = std::get_if<RemoteCommand>(&command))
    return leave(run_remote(remote->protocol, env, signals));
  return std::nullopt;
}

// Returns the job, or the exit code if something else was asked for. The options and the environment that the job was
// made from are freed here. Otherwise the guard and the agent would each keep them in memory as long as the job runs.
std::variant<int, Config> prepare(const std::vector<std::string>& args, SignalPlan& signals) {
  Environment env = read_environment();
  auto command = parse_command(args, env);
  if (!command) return fail(command.error());
  if (const auto code = answer(*command, env, signals)) return *code;
  Options options = std::get<Options>(*std::move(command));
  if (names_hosts(options)) return start_hosts(args, options, env, signals);
  HostFacts facts;
  auto config = settle_line(options, facts, std::move(env));
  if (!config) return fail(config.error());
  set_verbosity(config->verbosity);
  if (!options.explain.value.empty()) return explain(options, *config, facts.env);
  std::vector<int> wanted = config->signals;
  if (config->preemption.signal != 0) wanted.push_back(config->preemption.signal);
  choose_signals(signals, wanted);
  signals.ending = config->signals;
  signals.ending.push_back(SIGALRM);
  return *std::move(config);
}

}  // namespace

int run_command(const std::vector<std::string>& args) {
  hold_standard_streams();
  open_log();
  SignalPlan signals = take_over_signals();
  auto prepared = prepare(args, signals);
  if (const int* code = std::get_if<int>(&prepared)) return *code;
  return run_job(std::get<Config>(std::move(prepared)), signals);
}

}  // namespace launch
