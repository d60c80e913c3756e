#include "launch/core/control/control_line.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/control/control_completion.hpp"
#include "launch/core/job/job.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace launch {
namespace {

using Verb = ControlRequest::Verb;

constexpr const char* about =
    "Asks a running job of launch, from any of its hosts. JOB is a run id, or the pid of one of its launches. "
    "It may be left out if this host has one job of yours.";
constexpr int usual_lines = 10;
constexpr int not_given = -1;

// What the words of the line are stored in while they are read.
struct LineWords {
  ControlCommand command;
  std::string signal;
  std::string filter;
  std::string since;
  int rank = -1;
};

Result<int> number_of_signal(const std::string& word) {
  const auto named = signal_number(word);
  if (named) return *named;
  const auto number = parse_int(word);
  if (number && *number >= 1 && *number < NSIG) return *number;
  return usage_error(fmt::format("signal {}: no such signal; SIGUSR1 or 10 would be one", shown(word)));
}

// None: all.
Result<std::vector<int>> local_ranks_of(const std::string& list) {
  std::vector<int> ranks;
  if (list == "all") return ranks;
  for (const std::string_view word : split(list, ',')) {
    const auto rank = parse_int(trim(word));
    if (!rank || *rank < 0)
      return usage_error(
          fmt::format("filter {}: local ranks are whole numbers, as in 0,2; all lifts the filter", shown(list)));
    ranks.push_back(*rank);
  }
  return ranks;
}

// A command with JOB as its last word.
CLI::App* add(CLI::App& app, LineWords& words, const char* name, const char* help) {
  CLI::App* const command = app.add_subcommand(name, help);
  command->add_flag("--json", words.command.json, "a line of JSON for each node (docs/control.md)");
  return command;
}

void add_job(CLI::App* command, LineWords& words) {
  command->add_option("JOB", words.command.job, "the run id of the job, or the pid of a launch")->type_name("");
}

void add_rank(CLI::App* command, LineWords& words) {
  command->add_option("--rank", words.rank, "only this worker of the job")
      ->check(CLI::NonNegativeNumber)
      ->type_name("R");
}

void add_node(CLI::App* command, LineWords& words) {
  command->add_option("--node", words.command.node, "only this node of the job: its rank or its host")
      ->type_name("NODE");
}

void set_verb(CLI::App* command, LineWords& words, Verb verb) {
  command->final_callback([&words, verb] { words.command.request.verb = verb; });
}

void add_looks(CLI::App& app, LineWords& words) {
  add(app, words, "ps", "the jobs of mine on this host")->final_callback([&words] { words.command.list = true; });
  add_job(add(app, words, "status", "nodes and workers: state, processors, memory, last line"), words);
  CLI::App* const top = app.add_subcommand("top", "the same, live: what needs a look comes first");
  top->add_option("--interval", words.command.interval_s, "seconds between two looks; 1 if not given")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("S");
  add_job(top, words);
  top->final_callback([&words] { words.command.live = true; });
  CLI::App* const logs = add(app, words, "logs", "what the workers write, if it goes to files");
  logs->add_flag("-f,--follow", words.command.follow, "waits for more, until the job ends");
  logs->add_option("-n,--lines", words.command.request.lines,
                   "at most so many of each file; 10 if not given, all with --since")
      ->check(CLI::Range(0, 100'000))
      ->type_name("N");
  logs->add_option("--since", words.since, "only what was written since: 90s, 10m, 2h ago, or 14:05, 2026-11-27T14:05")
      ->type_name("T");
  add_rank(logs, words);
  add_node(logs, words);
  add_job(logs, words);
  set_verb(logs, words, Verb::logs);
  CLI::App* const stacks = add(app, words, "stacks", "where each worker is in its Python program, equal ones together");
  add_rank(stacks, words);
  add_job(stacks, words);
  set_verb(stacks, words, Verb::stacks);
  CLI::App* const timeline = add(app, words, "timeline", "how long each worker took to start, the slowest first");
  add_job(timeline, words);
  set_verb(timeline, words, Verb::timeline);
}

void add_deeds(CLI::App& app, LineWords& words) {
  CLI::App* const signal = add(app, words, "signal", "sends a signal to the workers, such as SIGUSR1");
  signal->add_option("SIGNAL", words.signal, "its name or number")->required()->type_name("");
  add_rank(signal, words);
  add_job(signal, words);
  set_verb(signal, words, Verb::signal);
  CLI::App* const kill = add(app, words, "kill-rank", "kills one worker: a failure like any other");
  kill->add_option("RANK", words.rank, "its rank")->required()->check(CLI::NonNegativeNumber)->type_name("");
  add_job(kill, words);
  kill->final_callback([&words] {
    words.command.request.verb = Verb::signal;
    words.signal = "SIGKILL";
  });
  CLI::App* const restart = add(app, words, "restart", "restarts all workers; it counts as no restart");
  add_job(restart, words);
  set_verb(restart, words, Verb::restart);
  CLI::App* const drain = add(app, words, "drain", "one node leaves the job, and the others go on without it");
  drain->add_option("NODE", words.command.node, "its rank or its host")->required()->type_name("");
  add_job(drain, words);
  set_verb(drain, words, Verb::drain);
  CLI::App* const filter = add(app, words, "filter", "changes which workers the consoles show");
  filter->add_option("LIST", words.filter, "local ranks, as 0,2; or all")->required()->type_name("");
  add_job(filter, words);
  set_verb(filter, words, Verb::filter);
  CLI::App* const stop = add(app, words, "stop", "stops the job as SIGTERM does");
  add_job(stop, words);
  set_verb(stop, words, Verb::stop);
}

// For completion scripts, which are not shown among the commands.
void add_names(CLI::App& app, LineWords& words) {
  CLI::App* const names = app.add_subcommand("names")->group("");
  names->add_option("WHICH", words.command.names)->required()->check(CLI::IsMember({"jobs", "nodes"}));
}

std::vector<ControlWords> words_of(const CLI::App& app) {
  std::vector<ControlWords> commands;
  for (const CLI::App* const command : app.get_subcommands(nullptr)) {
    if (command->get_group().empty()) continue;
    ControlWords& words = commands.emplace_back();
    words.command = command->get_name();
    words.help = command->get_description();
    for (const CLI::Option* const option : command->get_options()) {
      for (const std::string& name : option->get_snames()) words.options.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) words.options.push_back("--" + name);
    }
  }
  return commands;
}

}  // namespace

Result<std::variant<ControlCommand, ControlText>> parse_control_line(std::vector<std::string> args) {
  CLI::App app(about, "launch-ctl");
  LineWords words;
  app.set_version_flag("--version", std::string("launch-ctl ") + LAUNCH_VERSION);
  std::string shell;
  app.add_option("--print-completion", shell, "the completion for a shell: bash, zsh or fish")->type_name("SHELL");
  app.require_subcommand(0, 1);
  words.command.request.lines = not_given;
  add_looks(app, words);
  add_deeds(app, words);
  add_names(app, words);
  std::reverse(args.begin(), args.end());
  try {
    app.parse(std::move(args));
  } catch (const CLI::CallForHelp&) {
    return ControlText{app.help()};
  } catch (const CLI::CallForVersion& version) {
    return ControlText{std::string(version.what()) + '\n'};
  } catch (const CLI::ParseError& error) {
    return usage_error(fmt::format("{}; see launch-ctl --help", without_controls(error.what(), 300)));
  }
  if (!shell.empty()) {
    auto script = control_completion(shell, words_of(app));
    if (!script) return script.error();
    return ControlText{*std::move(script)};
  }
  if (app.get_subcommands().empty()) return usage_error("a command is missing; see launch-ctl --help");
  ControlRequest& request = words.command.request;
  if (app.got_subcommand("logs") && app.get_subcommand("logs")->count("--since") > 0) {
    const auto since = parse_since(words.since);
    if (!since) return since.error();
    words.command.since = *since;
  }
  if (request.lines == not_given && !words.command.since) request.lines = usual_lines;
  if (words.rank >= 0) request.rank = words.rank;
  if (request.verb == Verb::signal) {
    const auto number = number_of_signal(words.signal);
    if (!number) return number.error();
    request.signal = *number;
  }
  if (request.verb == Verb::filter) {
    auto ranks = local_ranks_of(words.filter);
    if (!ranks) return ranks.error();
    request.local_ranks = *std::move(ranks);
  }
  return std::move(words.command);
}

}  // namespace launch
