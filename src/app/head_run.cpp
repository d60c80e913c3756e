#include "launch/app/head_run.hpp"

#include "launch/app/end_report.hpp"
#include "launch/app/host_links.hpp"
#include "launch/app/log_gathering.hpp"
#include "launch/app/typed_input.hpp"
#include "launch/core/agent/signal_volley.hpp"
#include "launch/core/base/announcer.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/hosts/doctor.hpp"
#include "launch/core/hosts/head.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/console_queue.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/gathered_files.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_shown_later = std::size_t{1} << 20;  // bytes for a slow console, until hosts have to wait
constexpr std::size_t little_shown_later = std::size_t{256} << 10;
constexpr Duration console_patience = 10s;     // with a console that takes nothing
constexpr Duration time_for_connections = 5s;  // to end, once they are closed
constexpr int files_of_head = 32;
constexpr int files_per_host = 4;

// What this process was started with.
struct HeadStart {
  const SignalPlan& signals;
  rlimit open_files{};
  std::function<void()> on_begun;
};

// A host whose node has ended, and what the consoles must have taken until all of its lines were shown.
struct Unconfirmed {
  int node;
  bool leaves;
  std::uint64_t out, err;
};

template <class Machine>
Machine machine_for(const HeadPlan& plan);

template <>
Head machine_for<Head>(const HeadPlan& plan) {
  return Head(plan, random_seed());
}

template <>
Doctor machine_for<Doctor>(const HeadPlan& plan) {
  return Doctor(plan, random_seed(), instant());
}

// Of a job or, with the doctor, of a check.
template <class Machine>
class HeadRun {
 public:
  HeadRun(asio::io_context& context, HostsPlan plan, const Environment& env, const HeadStart& start)
      : context_(context),
        executor_(context.get_executor()),
        signals_(executor_, start.signals),
        signal_plan_(start.signals),
        on_begun_(start.on_begun),
        plan_(std::move(plan)),
        machine_(machine_for<Machine>(plan_.head)),
        gathering_(executor_, plan_.gather_folder, plan_.head, [this] { pace(); }),
        input_(executor_, input_handlers()),
        links_(executor_, plan_, {env, start.signals.reset, start.open_files}, handlers()),
        moment_(executor_),
        beat_(executor_),
        out_(executor_, STDOUT_FILENO, [this] { pace(); }),
        own_err_(executor_, STDERR_FILENO, [this] { pace(); }),
        err_(is_same_file(STDOUT_FILENO, STDERR_FILENO) ? out_ : own_err_),
        announcer_(now()) {}

  int run() {
    run_in_background(executor_, watch_signals());
    act(machine_.start(now()));
    context_.run();
    return code_;
  }

 private:
  using Task = asio::awaitable<void>;

  void act(HeadActions actions) {
    for (HeadAction& action : actions) std::visit([this](auto& one) { this->carry_out(std::move(one)); }, action);
    if (over_) return;
    input_.look();
    report_progress();
    const Time next = machine_.deadline();
    moment_.expires_at(to_steady(machine_.waits() ? std::min(next, announcer_.next()) : next));
    moment_.async_wait([this](const boost::system::error_code& error) {
      if (!error) act(machine_.on_deadline(now()));
    });
  }

  void report_progress() {
    if (!machine_.waits()) return end_progress();
    if (announcer_.due(now(), progress_interval())) log_progress(machine_.progress());
  }

  Task watch_signals() {
    for (;;) {
      const auto received = co_await signals_.next();
      if (!received) co_return;
      const SignalWay way = received->sender == 0 ? SignalWay::terminal : SignalWay::guard;
      if (volley_.is_new(received->signal, way, now())) hear(received->signal);
    }
  }

  // A window that changes its size, for one, is nobody's business.
  void hear(int signal) {
    const bool ends = std::ranges::find(plan_.signals, signal) != plan_.signals.end();
    const bool warns = signal == plan_.preemption.signal;
    if (warns && machine_.waits()) {
      warned_ = true;
      return act(machine_.on_signal(signal, now()));
    }
    if ((warns && !ends) || signal == SIGUSR1 || signal == SIGUSR2) return act(machine_.on_passed_signal(signal));
    if (!is_ending(signal_plan_, signal)) return;
    if (over_) return hurry(signal);
    act(machine_.on_signal(signal, now()));
  }

  // Nothing is waited for any more: hosts end their nodes by themselves.
  void hurry(int signal) {
    if (code_ == 0) code_ = 128 + signal;
    links_.kill_all();
    context_.stop();
  }

  // A check has none.
  InputHandlers input_handlers() {
    InputHandlers handlers;
    if constexpr (std::is_same_v<Machine, Head>) {
      handlers.wants_more = [this] { return machine_.wants_input(); };
      handlers.on_bytes = [this](const std::string& bytes) { act(machine_.on_input(bytes)); };
    } else {
      handlers.wants_more = [] { return false; };
    }
    return handlers;
  }

  LinkHandlers handlers() {
    LinkHandlers handlers;
    handlers.on_greeting = [this](int node, const Greeting& greeting) {
      act(machine_.on_greeting(node, greeting, now()));
    };
    handlers.on_noise = [this](int node, std::string noise) { machine_.on_noise(node, std::move(noise)); };
    handlers.on_message = [this](int node, HostMessage message) {
      act(machine_.on_message(node, std::move(message), now()));
    };
    handlers.on_life = [](int) {};
    if constexpr (std::is_same_v<Machine, Head>) handlers.on_life = [this](int node) { machine_.on_life(node, now()); };
    handlers.on_taken = [this](int node) { machine_.on_taken(node, now()); };
    handlers.on_nonsense = [this](int node, const std::string& what) { act(machine_.on_nonsense(node, what, now())); };
    handlers.on_lost = [this](int node, const LostConnection& lost) { act(machine_.on_lost(lost, node, now())); };
    return handlers;
  }

  void carry_out(const ConnectHost& action) { links_.connect(action); }
  void carry_out(const TellHost& action) {
    if (std::holds_alternative<NodeGo>(action.message) && !std::exchange(began_, true)) on_begun_();
    links_.tell(action.node, action.message);
  }
  void carry_out(const LeaveHost& action) { action.silent ? links_.give_up(action.node) : links_.leave(action.node); }

  void carry_out(const ConfirmHost& action) {
    unconfirmed_.push_back({action.node, action.leaves, out_.given(), err_.given()});
    confirm();
    if (!unconfirmed_.empty() && !std::exchange(beats_, true)) run_in_background(executor_, keep_unconfirmed());
  }

  void confirm() {
    note_losses();
    std::erase_if(unconfirmed_, [this](const Unconfirmed& one) {
      if (out_.taken() < one.out || err_.taken() < one.err || !gathering_.is_written(one.node)) return false;
      if (gathering_.is_complete(one.node) && !loses_output_) links_.tell(one.node, NodeShown{});
      if (one.leaves) links_.leave(one.node);
      return true;
    });
  }

  // The console may be slow, and a host that hears nothing for long gives the head up.
  Task keep_unconfirmed() {
    while (!unconfirmed_.empty()) {
      beat_.expires_at(to_steady(later(now(), between_host_beats(plan_.head.silence))));
      (void)co_await beat_.async_wait(as_values);
      for (const Unconfirmed& one : unconfirmed_) links_.tell(one.node, HostBeat{});
    }
    beats_ = false;
  }

  void carry_out(const ShowLines& action) {
    end_progress();
    (action.errors ? err_ : out_).write(action.lines);
    pace();
  }

  void note_losses() {
    const int why = out_.refused() != 0 ? out_.refused() : err_.refused();
    if (why == 0 || std::exchange(loses_output_, true)) return;
    log_warning(fmt::format("output is lost because it cannot be written: {}; the job goes on{}", std::strerror(why),
                            plan_.head.keeps_output ? ", and the hosts keep all of it in launch-* in the folder for "
                                                      "temporary files"
                                                    : ""));
  }

  // What is not shown yet, of both streams.
  std::size_t unshown() const { return out_.held() + own_err_.held(); }

  // A console that takes nothing holds up the hosts, and there only what is shown. So does a disk. Once it was too much
  // for either, much of that must be gone before it is not.
  void pace() {
    confirm();
    const bool was_full = console_full_ || disk_full_;
    console_full_ = unshown() > (console_full_ ? little_shown_later : most_shown_later);
    disk_full_ = gathering_.held() > (disk_full_ ? little_shown_later : most_shown_later);
    const bool full = console_full_ || disk_full_;
    if (full == was_full) return;
    machine_.on_console(full, now());
    links_.hold(full);
  }

  void carry_out(const SayLine& action) { action.wrong ? log_error(action.text) : log_info(action.text); }

  void carry_out(StoreFile action) {
    gathering_.store(action.node, std::move(action.file));
    pace();
  }

  void carry_out(const EndFiles& action) { gathering_.end(action.node); }

  void carry_out(const WarnLine& action) { log_warning(action.text); }

  void carry_out(FinishHead action) {
    if (std::exchange(over_, true)) return;
    moment_.cancel();
    end_progress();
    run_in_background(executor_, finish(std::move(action)));
  }

  // It, or a host whose connection it has, waits for the word that all was shown.
  bool is_needed(int node) const {
    return std::any_of(unconfirmed_.begin(), unconfirmed_.end(), [&](const Unconfirmed& one) {
      return one.node == node || plan_.head.nodes[static_cast<std::size_t>(one.node)].starter == node;
    });
  }

  Task finish(FinishHead end) {
    const bool counts = end.began || warned_;  // who cannot begin has a code of its own
    code_ = counts ? exit_code_for_scheduler(plan_.preemption, end.exit_code, warned_) : end.exit_code;
    for (int node = 0; node < std::ssize(plan_.hosts); ++node)
      if (!is_needed(node)) links_.leave(node);
    auto showing = out_.drained(console_patience);
    co_await std::move(showing);
    auto telling = own_err_.drained(console_patience);  // nothing, if both streams are one file
    co_await std::move(telling);
    auto storing = gathering_.drained(console_patience);
    co_await std::move(storing);
    confirm();
    if (const std::size_t left = unshown(); left > 0) warn_of_unshown(left);
    links_.leave_all();
    if (began_) gathering_.tell();
    if (counts && says_requeue(plan_.preemption, code_))
      log_info(fmt::format("exit code {}: the scheduler should start the job again", code_));
    DiskThread disk(executor_);
    auto report =
        report_end_of_hosts({end.report, std::string(trim(end.json)), plan_.verdict, plan_.parent_error_file}, disk);
    co_await std::move(report);
    auto ending = links_.end(time_for_connections);
    co_await std::move(ending);
    context_.stop();
  }

  void warn_of_unshown(std::size_t bytes) const {
    const std::string_view kept = " (the output is left in launch-* in the folder for temporary files of the hosts)";
    log_warning(fmt::format("nobody reads the console: {} bytes of what the hosts wrote were not shown{}", bytes,
                            unconfirmed_.empty() ? "" : kept));
  }

  asio::io_context& context_;
  asio::any_io_executor executor_;
  SignalStream signals_;
  const SignalPlan& signal_plan_;
  std::function<void()> on_begun_;
  HostsPlan plan_;
  Machine machine_;
  LogGathering gathering_;
  TypedInput input_;
  HostLinks links_;
  asio::steady_timer moment_, beat_;
  std::vector<Unconfirmed> unconfirmed_;
  bool beats_ = false;
  ConsoleQueue out_, own_err_;
  ConsoleQueue& err_;  // one for both streams if they are one file: no line comes between the parts of another
  Announcer announcer_;
  SignalVolley volley_;
  bool loses_output_ = false;  // a file that is full
  bool console_full_ = false, disk_full_ = false;
  bool began_ = false;  // nodes were started
  bool over_ = false;
  bool warned_ = false;  // before any worker ran
  int code_ = 1;
};

// Before a job runs for days, and its files find no place.
Status make_places(const HostsPlan& plan) {
  if (const Status made = plan.gather_folder.empty() ? Status() : make_folders(plan.gather_folder); !made)
    return usage_error(fmt::format("--gather-logs {}: {}; name a folder that can be written", shown(plan.gather_folder),
                                   made.error().message));
  if (const Status may = plan.verdict.file.empty() ? Status() : may_write(plan.verdict.file); !may)
    return usage_error(fmt::format("the report could not be written to {} (--verdict): {}; name a file that can be",
                                   shown(plan.verdict.file), may.error().message));
  return {};
}

}  // namespace

int run_head(HostsPlan plan, const Environment& env, SignalPlan& signals, std::function<void()> on_begun) {
  if (const Status made = make_places(plan); !made) {
    log_error(made.error().message);
    return 2;
  }
  std::vector<int> wanted{SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  wanted.insert(wanted.end(), plan.signals.begin(), plan.signals.end());
  if (plan.preemption.signal != 0) wanted.push_back(plan.preemption.signal);
  choose_signals(signals, wanted);
  for (const std::string& notice : plan.notices) log_warning(notice);
  const rlimit open_files = raise_open_files(files_of_head + files_per_host * static_cast<int>(plan.hosts.size()));
  asio::io_context& context = *new asio::io_context(1);
  const HeadStart start{signals, open_files, std::move(on_begun)};
  if (plan.head.check) return HeadRun<Doctor>(context, std::move(plan), env, start).run();
  return HeadRun<Head>(context, std::move(plan), env, start).run();
}

}  // namespace launch
