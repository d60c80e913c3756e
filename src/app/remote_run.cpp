#include "launch/app/remote_run.hpp"

#include "launch/app/peer_relay.hpp"
#include "launch/app/remote_survey.hpp"
#include "launch/app/settle_line.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/cluster/task_identity.hpp"
#include "launch/core/hosts/remote.hpp"
#include "launch/core/hosts/start_line.hpp"
#include "launch/core/verdict/verdict.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/gathered_files.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"
#include "launch/io/own_reach.hpp"
#include "launch/io/piped_program.hpp"
#include "launch/io/reach_door.hpp"
#include "launch/io/remote_place.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr std::size_t most_unsent = std::size_t{1} << 20;          // until the node has to wait
constexpr Duration patience_with_logs = std::chrono::seconds(30);  // for each piece

class RemoteRun {
 public:
  RemoteRun(asio::io_context& context, const Environment& own_env, const SignalPlan& signals)
      : context_(context),
        executor_(context.get_executor()),
        signals_(executor_, signals),
        signal_plan_(signals),
        own_env_(own_env),
        input_(executor_, STDIN_FILENO),
        output_(executor_, STDOUT_FILENO),
        moment_(executor_),
        room_(executor_),
        disk_(executor_),
        peers_(executor_, signals.reset, peer_handlers()) {
    room_.expires_at(to_steady(never));
  }

  void start() {
    unsent_ = to_line({host_protocol, LAUNCH_VERSION, ::getpid(), own_hostname()});
    flush();
    run_in_background(executor_, hear());
    run_in_background(executor_, watch_signals());
    act(machine_.start(now()));
  }

 private:
  using Task = asio::awaitable<void>;

  PeerHandlers peer_handlers() {
    PeerHandlers handlers;
    handlers.on_bytes = [this](int node, std::string bytes) { act(machine_.on_peer_bytes(node, std::move(bytes))); };
    handlers.on_end = [this](PeerEnd end) { act(machine_.on_peer_end(std::move(end))); };
    return handlers;
  }

  void act(RemoteActions actions) {
    for (RemoteAction& action : actions) std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
    moment_.expires_at(to_steady(machine_.deadline()));
    moment_.async_wait([this](const boost::system::error_code& error) {
      if (!error) act(machine_.on_deadline(now()));
    });
  }

  Task hear() {
    static std::array<char, 65536> bytes;  // only what is used of it becomes memory
    for (;;) {
      auto reading = input_.async_read_some(asio::buffer(bytes), as_values);
      const auto [error, size] = co_await std::move(reading);
      if (error || !take({bytes.data(), size})) break;
    }
    act(machine_.on_lost());
  }

  // False: it makes no sense.
  bool take(std::string_view bytes) {
    reader_.feed(bytes);
    machine_.on_life(now());
    for (;;) {
      auto message = reader_.next();
      if (!message) return false;
      if (!*message) return true;
      act(machine_.on_message(**std::move(message), now()));
    }
  }

  Task watch_signals() {
    for (;;) {
      const auto received = co_await signals_.next();
      if (!received) co_return;
      if (is_ending(signal_plan_, received->signal)) act(machine_.on_signal(received->signal));
    }
  }

  void flush() {
    if (!std::exchange(writing_, true)) run_in_background(executor_, write());
  }

  Task write() {
    while (!unsent_.empty()) {
      const std::string bytes = std::exchange(unsent_, {});
      auto writing = asio::async_write(output_, asio::buffer(bytes), as_values);
      const auto [error, size] = co_await std::move(writing);
      if (error) deaf_ = true;
      if (unsent_.size() < most_unsent) hold(false);
      room_.cancel();
    }
    writing_ = false;
    if (leaving_) context_.stop();
  }

  void carry_out(TellHead action) {
    if (deaf_) return;
    unsent_ += to_frame(action.message);
    if (unsent_.size() > most_unsent) hold(true);
    flush();
  }

  // What would be sent, as long as so much is unsent.
  void hold(bool held) {
    if (std::exchange(held_, held) == held) return;
    if (node_) node_->hold(held);
    peers_.hold(held);
  }

  void carry_out(CheckNode action) {
    job_ = std::move(action.job);
    env_ = environment_of_node();
    if (job_.checks) return run_in_background(executor_, look_over());
    auto answer = check();
    act(machine_.on_checked(answer ? HostMessage(*std::move(answer))
                                   : HostMessage(NodeCannot{answer.error().message, exit_code(answer.error().code)})));
  }

  Environment environment_of_node() const {
    Environment env = without_identity(own_env_);
    for (const std::string& line : job_.env)
      if (const auto equals = line.find('='); equals != std::string::npos)
        env.set(line.substr(0, equals), line.substr(equals + 1));
    return env;
  }

  // In place of check().
  Task look_over() {
    auto surveying = survey_node(job_, env_);
    NodeSurvey found = co_await std::move(surveying);
    const bool keeps = job_.keeps_output && found.survey.tmp.free_mib != 0;  // else core says that it is full
    if (const Status may = keeps ? may_keep_files() : Status(); !may)
      found.survey.faults.push_back({"tmp", may.error().message});
    auto ready = look_around(found.hostname);
    if (!ready) found.survey.faults.push_back({"port", ready.error().message});
    NodeReady answer = ready ? *std::move(ready) : NodeReady();
    found.survey.answered_us = instant().wall.time_since_epoch().count();
    answer.facts = to_json(found.survey);
    act(machine_.on_checked(std::move(answer)));
  }

  // Whether the node could start here.
  Result<NodeReady> check() {
    if (Status entered = enter_folder(job_.folder, job_.umask); !entered) return entered.error();
    auto command = parse_command(job_.args, env_);
    if (!command) return command.error();
    auto* options = std::get_if<Options>(&*command);
    if (options == nullptr) return usage_error("it is not the line of a job");
    chooses_streams_ = options->tee.given() || options->redirects.given();
    HostFacts facts;
    auto config = settle_line(*options, facts, env_);
    if (!config) return config.error();
    if (!config->program.fault.empty()) return usage_error(config->program.fault);
    if (const Status may = job_.keeps_output ? may_keep_files() : Status(); !may) return may.error();
    auto ready = look_around(facts.hostname);
    if (ready) ready->workers = config->nproc_per_node;
    return ready;
  }

  Result<NodeReady> look_around(const std::string& hostname) {
    NodeReady ready;
    ready.hostname = hostname;
    ready.boot_id = boot_id();
    ready.machine = machine();
    addresses_ = own_addresses();
    for (const NamedAddress& one : addresses_) {
      ready.addresses.push_back(one.address);
      ready.interfaces.push_back(one.interface);
    }
    const bool first = job_.node == 0 && job_.nodes > 1;
    if (!first && !job_.checks) return ready;
    ready.port = own_reach(hostname, first ? job_.port : std::uint16_t{0}).port;
    door_ = std::make_unique<ReachDoor>(executor_, job_.token);
    if (Status opened = door_->open(ready.port); !opened) return opened.error();
    return ready;
  }

  void carry_out(TryToReach action) { run_in_background(executor_, reach(std::move(action.question))); }

  Task reach(ReachQuestion question) {
    auto trying = try_to_reach(std::move(question));
    auto answer = co_await std::move(trying);
    act(machine_.on_reach(std::move(answer)));
  }

  // NCCL and Gloo would take the first interface, or the one that the host's name leads to.
  void set_interface(const std::string& meeting) {
    const std::string interface = meeting.empty() ? "" : interface_towards(meeting, addresses_);
    if (interface.empty()) return;
    for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
      if (!env_.get(name)) env_.set(name, interface);
  }

  void carry_out(RunNode action) {
    door_.reset();
    set_interface(action.meeting);
    auto& args = action.args;
    std::vector<std::string> more;
    if (job_.keeps_output) {
      kept_ = make_private_folder("launch-");
      if (!kept_.empty()) more = {"--log-dir=" + kept_};
      if (!kept_.empty() && !chooses_streams_) more.emplace_back("--tee=3");
    }
    if (report_.valid() && json_.valid())
      more.push_back(
          fmt::format("--verdict={}:{},{}", kept_.empty() ? "hosted" : "passing", report_.path(), json_.path()));
    more.insert(more.end(), args.begin(), args.end());
    more.insert(more.begin(), "launch");
    ProgramHandlers handlers;
    handlers.on_bytes = [this](std::string_view bytes) { tell_output(bytes, false); };
    handlers.on_errors = [this](std::string_view bytes) { tell_output(bytes, true); };
    handlers.on_end = [this](ExitStatus status, const std::string&) { end(status); };
    handlers.on_taken = [this](std::size_t bytes) { act(machine_.on_taken(bytes)); };
    auto started =
        PipedProgram::start(executor_, {"/proc/self/exe", std::move(more), env_.lines(), signal_plan_.reset}, handlers);
    if (!started) {
      remove_folder(kept_);
      tell_output(started.error().message + "\n", true);
      return act(machine_.on_end({1, "", ""}));
    }
    node_ = *std::move(started);
    node_->hold(held_);
    if (!action.input) node_->close();
  }

  void tell_output(std::string_view bytes, bool errors) {
    // A warning of the node names the files if the console did not get all.
    if (errors && !kept_.empty()) needed_ = needed_ || bytes.find(kept_) != std::string_view::npos;
    while (!bytes.empty()) {
      const auto part = bytes.substr(0, longest_output);
      act(machine_.on_output({errors, std::string(part)}));
      bytes.remove_prefix(part.size());
    }
  }

  void end(ExitStatus status) {
    NodeEnd end{exit_code(status), report_.text(longest_report), json_.text(longest_report + 1)};
    if (status.kind == ExitStatus::Kind::signalled) end.signal = status.value;
    needed_ = needed_ || (!status.ok() && !was_told_to_stop(end.json));
    run_in_background(executor_, tell_end(std::move(end)));
  }

  Task tell_end(NodeEnd end) {
    const std::string folder = job_.logs.empty() ? kept_ : job_.logs;
    if (job_.gathers_logs && !folder.empty()) {
      act(machine_.on_files(end));
      auto listing = disk_.run_until(later(now(), patience_with_logs), [folder] { return files_below(folder); });
      const auto names = co_await std::move(listing);
      if (!names) tell_silence({"logs", false, "", ""});
      for (std::size_t i = 0; names && i < names->size() && !silent_; ++i) co_await tell_file(folder, (*names)[i]);
    }
    act(machine_.on_end(std::move(end)));
  }

  Task tell_file(const std::string& folder, const std::string& name) {
    for (std::uint64_t at = 0; !deaf_; at += longest_output) {
      auto read = [path = folder + "/" + name, at] { return read_piece(path, at, longest_output); };
      auto reading = disk_.run_until(later(now(), patience_with_logs), std::move(read));
      const auto piece = co_await std::move(reading);
      if (!piece) co_return tell_silence({name, at == 0, "", ""});
      NodeFile file{name, at == 0, *piece ? **piece : "", *piece ? "" : piece->error().message};
      act(machine_.on_file(std::move(file)));
      while (unsent_.size() > most_unsent && !deaf_) (void)co_await room_.async_wait(as_values);
      if (!*piece || (*piece)->size() < longest_output) co_return;
    }
  }

  // The files stay where they are.
  void tell_silence(NodeFile file) {
    file.fault = "the file system does not answer";
    silent_ = needed_ = true;
    act(machine_.on_file(std::move(file)));
  }

  void carry_out(const SignalNode& action) {
    if (node_) node_->signal(action.number, action.lost ? lost_head_sender : 0);
  }

  void carry_out(FeedNode action) {
    if (node_) action.bytes.empty() ? node_->close() : node_->send(std::move(action.bytes));
  }

  void carry_out(ConnectPeer action) { peers_.connect(action.node, std::move(action.argv), own_env_); }

  void carry_out(FeedPeer action) { peers_.feed(action.node, std::move(action.bytes)); }

  void carry_out(const RemoveOutput&) {
    if (!needed_) remove_folder(kept_);
  }

  void carry_out(const ForgetHead&) {
    deaf_ = true;
    room_.cancel();
    unsent_.clear();
    hold(false);
    peers_.close();
    if (leaving_) context_.stop();
  }

  void carry_out(const LeaveRemote&) {
    leaving_ = true;
    if (!writing_ || deaf_) context_.stop();
  }

  asio::io_context& context_;
  asio::any_io_executor executor_;
  SignalStream signals_;
  const SignalPlan& signal_plan_;
  const Environment& own_env_;
  asio::posix::stream_descriptor input_, output_;
  asio::steady_timer moment_;
  asio::steady_timer room_;  // for what is sent
  DiskThread disk_;          // which the control thread must not wait for
  Remote machine_;
  FrameReader reader_{false};
  NodeJob job_;
  Environment env_;  // of the node
  std::vector<NamedAddress> addresses_;
  MemoryFile report_, json_;
  bool chooses_streams_ = false;  // the user has said which streams go to files
  std::string kept_;              // the folder of the workers' output
  bool needed_ = false;           // the user has been told of it, or the report of a failure may name it
  bool silent_ = false;           // the file system of the logs
  std::unique_ptr<ReachDoor> door_;
  std::shared_ptr<PipedProgram> node_;
  PeerRelay peers_;
  std::string unsent_;
  bool writing_ = false;
  bool held_ = false;
  bool deaf_ = false;  // nobody reads
  bool leaving_ = false;
};

// The head has sent this program here. It needs its file no more, even to start itself.
void remove_own_copy(const std::string& folder) {
  std::error_code failed;  // a path may lead there by a link
  const bool own = !folder.empty() && std::filesystem::equivalent(folder + "/launch", self_path(), failed);
  if (own) remove_folder(folder);
}

}  // namespace

int run_remote(const std::string& protocol, Environment env, SignalPlan& signals) {
  if (protocol != std::to_string(host_protocol)) {
    log_error(fmt::format("--remote {}: this launch speaks protocol {}", shown(protocol), host_protocol));
    return 2;
  }
  choose_signals(signals, {SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  end_with_input_only();
  remove_own_copy(env.get(copy_variable).value_or(""));
  env.remove(copy_variable);
  asio::io_context& context = *new asio::io_context(1);
  RemoteRun run(context, env, signals);
  run.start();
  context.run();
  return 0;
}

}  // namespace launch
