#include "launch/core/hosts/head.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_reach.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_beats = 5s;
constexpr Duration first_delay = 500ms;  // before a login that was busy is tried again
constexpr int most_tries = 6;
constexpr int signals_until_over = 3;
constexpr std::size_t most_warnings = 64;

}  // namespace

Head::Head(HeadPlan plan, std::uint64_t seed) : plan_(std::move(plan)), random_(seed), hosts_(plan_.nodes.size()) {}

HeadActions Head::take() { return std::exchange(actions_, {}); }

int Head::count(State state) const {
  return static_cast<int>(
      std::count_if(hosts_.begin(), hosts_.end(), [state](const Host& host) { return host.state == state; }));
}

std::vector<std::string> Head::names(std::initializer_list<State> states) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (std::find(states.begin(), states.end(), hosts_[i].state) != states.end()) all.push_back(plan_.nodes[i].host);
  return all;
}

std::string Head::progress() const {
  if (phase_ == Phase::run || phase_ == Phase::over) return "";
  std::vector<std::string> parts;
  std::size_t left = 0;
  const auto add = [&](const char* doing, std::initializer_list<State> states) {
    const auto whom = names(states);
    left += whom.size();
    if (!whom.empty()) parts.push_back(fmt::format("{} {}", doing, fold_hosts(whom)));
  };
  add("connecting to", {State::connecting, State::waiting});
  add("checking", {State::asked});
  add("looking for an address of node 0 that is reached from", {State::reaching});
  return fmt::format("waiting for {} of {}: {}", left, counted(static_cast<int>(hosts_.size()), "host"),
                     fmt::join(parts, "; "));
}

// From now on; without a limit, until then.
void Head::wait_for(int node, State state, Time when) {
  Host& host = at(node);
  host.state = state;
  host.due = later(when, limit_of(host));
}

void Head::connect_more(Time now) {
  if (phase_ != Phase::gather) return;
  for (std::size_t i = 0; i < hosts_.size() && connecting_ < plan_.fanout; ++i) {
    Host& host = hosts_[i];
    if (host.state != State::waiting || host.connected || (host.tries > 0 && now < host.due)) continue;
    ++connecting_;
    ++host.tries;
    host.connected = true;
    wait_for(static_cast<int>(i), State::connecting, now);
    actions_.push_back(ConnectHost{static_cast<int>(i), host.copies});
  }
}

HeadActions Head::start(Time now) {
  beat_ = later(now, between_beats);
  connect_more(now);
  return take();
}

HeadActions Head::on_greeting(int node, const Greeting& greeting, Time now) {
  at(node).heard = now;
  if (phase_ == Phase::over || at(node).state != State::connecting) return take();
  if (greeting.version == plan_.version) {
    ask(node, now);
  } else if (may_copy(node)) {
    copy(node, now);
    actions_.push_back(LeaveHost{node});
  } else {
    drop(node, {name(node),
                fmt::format("has launch {}, this is {}: the same version on all hosts, please",
                            without_controls(greeting.version, 40), plan_.version),
                1});
  }
  settle(now);
  return take();
}

bool Head::may_copy(int node) const { return plan_.may_copy && !hosts_[static_cast<std::size_t>(node)].copies; }

// This program will be sent there over another connection, as soon as the present one has ended.
void Head::copy(int node, Time now) {
  --connecting_;
  at(node).copies = true;
  at(node).tries = 0;
  wait_for(node, State::waiting, now);
}

void Head::ask(int node, Time now) {
  --connecting_;
  wait_for(node, State::asked, now);
  const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(longest_host_silence).count();
  actions_.push_back(TellHost{node, node_job(plan_, node, silence)});
}

// The host takes no part, or not any more. What others say is still waited for, so that all problems are listed.
void Head::drop(int node, const HostProblem& problem) {
  Host& host = at(node);
  const bool left = host.state == State::waiting;  // already, because of its version
  if (host.state == State::connecting) --connecting_;
  if (host.state == State::running) {
    flush(node);
    list({problem});
    wait_for(node, State::lost, never);
  } else {
    problems_.push_back(problem);
    wait_for(node, State::ended, never);
  }
  if (host.connected && !left) actions_.push_back(LeaveHost{node});
}

HeadActions Head::on_message(int node, HostMessage message, Time now) {
  at(node).heard = now;
  if (phase_ == Phase::over) return take();
  const State before = at(node).state;
  std::visit([&](const auto& one) { on(node, one, now); }, message);
  if (at(node).state != before) settle(now);
  return take();
}

// A remote never says it.
template <class Other>
void Head::on(int node, const Other&, Time) {
  if constexpr (!std::is_same_v<Other, HostBeat>) nonsense(node, "a message that only the head sends");
}

void Head::on(int node, const NodeReady& ready, Time) {
  if (at(node).state != State::asked) return;
  at(node).ready = ready;
  wait_for(node, State::ready, never);
}

void Head::on(int node, const NodeCannot& cannot, Time) {
  if (at(node).state == State::asked) drop(node, {name(node), without_controls(cannot.reason, 400), cannot.exit_code});
}

void Head::list(const std::vector<HostProblem>& problems) {
  for (std::string& line : fold_problems(problems)) actions_.push_back(SayLine{true, std::move(line)});
}

// Goes on if nothing is waited for any more.
void Head::settle(Time now) {
  if (phase_ == Phase::gather) {
    connect_more(now);
    settle_gathering(now);
  } else if (phase_ == Phase::reach) {
    settle_reach(now);
  } else if (phase_ == Phase::run) {
    settle_run();
  }
}

void Head::settle_gathering(Time now) {
  if (count(State::ready) + count(State::ended) < static_cast<int>(hosts_.size())) return;
  if (problems_.empty()) return ask_who_reaches(now);
  give_up();
}

// Before anything was started.
void Head::give_up() {
  list(problems_);
  const int code = problems_.front().exit_code;
  const bool same = std::all_of(problems_.begin(), problems_.end(),
                                [code](const HostProblem& problem) { return problem.exit_code == code; });
  actions_.push_back(SayLine{true, fmt::format("{} of {} cannot take part, so nothing was started", problems_.size(),
                                               counted(static_cast<int>(hosts_.size()), "host"))});
  finish(same ? code : 1);
}

void Head::ask_who_reaches(Time now) {
  if (hosts_.size() == 1) return go("", now);
  phase_ = Phase::reach;
  const NodeReady& first = hosts_.front().ready;
  auto candidates = on_network(first.addresses, first.interfaces, plan_.network);
  if (!candidates) {
    actions_.push_back(SayLine{true, fmt::format("{}: {}", name(0), candidates.error().message)});
    return finish(2);
  }
  candidates_ = *std::move(candidates);
  const bool one_machine = std::all_of(hosts_.begin(), hosts_.end(), [&](const Host& host) {
    return host.ready.boot_id == first.boot_id && !first.boot_id.empty();
  });
  if (one_machine && plan_.network.empty()) candidates_.insert(candidates_.begin(), "127.0.0.1");
  for (std::size_t i = 1; i < hosts_.size(); ++i) {
    wait_for(static_cast<int>(i), State::reaching, now);
    actions_.push_back(TellHost{static_cast<int>(i), ReachQuestion{candidates_, first.port, plan_.run_id}});
  }
}

void Head::on(int node, const ReachAnswer& answer, Time) {
  if (at(node).state != State::reaching) return;
  at(node).reach = answer;
  wait_for(node, State::ready, never);
}

void Head::settle_reach(Time now) {
  if (!problems_.empty()) return give_up();
  if (count(State::reaching) > 0) return;
  std::vector<ReachRow> rows;
  for (std::size_t i = 1; i < hosts_.size(); ++i) rows.push_back({plan_.nodes[i].host, hosts_[i].reach.faults});
  if (const auto address = choose_address(candidates_, rows)) return go(*address, now);
  for (std::string& line : explain_reach(name(0), hosts_.front().ready.port, candidates_, rows))
    actions_.push_back(SayLine{true, std::move(line)});
  finish(1);
}

void Head::go(const std::string& address, Time now) {
  phase_ = Phase::run;
  const Endpoint store{address, hosts_.front().ready.port};
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const int node = static_cast<int>(i);
    wait_for(node, State::running, never);
    hosts_[i].heard = now;
    actions_.push_back(TellHost{node, NodeGo{node_line(plan_, node, store), plan_.sets_interface ? address : ""}});
  }
}

void Head::on(int node, const NodeOutput& output, Time) {
  Host& host = at(node);
  if (host.state != State::running) return;
  std::string lines;
  (output.errors ? host.err : host.out).feed(output.bytes, [&](std::string_view line) {
    if (output.errors && is_repeated(node, line)) return;
    lines.append(line);
    lines += '\n';
  });
  if (!lines.empty()) actions_.push_back(ShowLines{output.errors, std::move(lines)});
}

// What several nodes warn of in the same words is said once.
bool Head::is_repeated(int node, std::string_view line) {
  if (!line.starts_with("launch: warning: ") || warned_.size() > most_warnings) return false;
  return warned_.try_emplace(std::string(line), node).first->second != node;
}

void Head::on(int node, const NodeEnd& end, Time) {
  Host& host = at(node);
  if (host.state != State::running) return;
  host.end = end;
  wait_for(node, State::ended, never);
  flush(node);
  actions_.push_back(LeaveHost{node});
}

// What it has written of a line.
void Head::flush(int node) {
  for (const bool errors : {false, true})
    (errors ? at(node).err : at(node).out).flush([&](std::string_view line) {
      actions_.push_back(ShowLines{errors, std::string(line) + '\n'});
    });
}

HeadActions Head::on_nonsense(int node, const std::string& what, Time now) {
  if (phase_ != Phase::over) nonsense(node, what);
  settle(now);
  return take();
}

void Head::nonsense(int node, const std::string& what) {
  const Host& host = at(node);
  const bool left = host.state == State::waiting || host.state == State::ended || host.state == State::lost;
  if (host.connected && !left) drop(node, {name(node), "what comes from there is not launch: " + what, 1});
}

HeadActions Head::on_lost(const LostConnection& lost, int node, Time now) {
  Host& host = at(node);
  host.connected = false;
  if (phase_ == Phase::over || host.state == State::ended || host.state == State::lost) return take();
  if (host.state == State::waiting) {
    host.due = now;
    return settle(now), take();
  }
  const HostProblem problem = explain(lost);
  if (host.state == State::connecting && lacks_launch(lost) && may_copy(node)) {
    copy(node, now);
  } else if (host.state == State::connecting && may_try_again(lost) && host.tries < most_tries) {
    --connecting_;
    wait_for(node, State::waiting, later(now, random_.between(first_delay, 2 * host.tries * first_delay + 1s)));
  } else if (host.state == State::running) {
    drop(node, {name(node), fmt::format("the connection has ended, so its node ends ({})", problem.reason), 1});
  } else {
    drop(node, {name(node), problem.reason, problem.exit_code});
  }
  settle(now);
  return take();
}

// When no node runs any more.
void Head::settle_run() {
  if (count(State::running) > 0) return;
  FinishHead end;
  for (const Host& host : hosts_) {
    if (end.exit_code == 0) end.exit_code = host.end.exit_code;
    if (!end.report.empty() || host.end.report.empty()) continue;
    end = {host.end.exit_code, host.end.report, host.end.json};
  }
  const bool went_on = plan_.c10d && count(State::ended) > 0;               // without the hosts that were lost
  const bool told_by_us = end.exit_code == 128 + SIGTERM && signals_ == 0;  // since the host was lost
  if ((end.exit_code == 0 || told_by_us) && count(State::lost) > 0 && !went_on) end.exit_code = 1;
  phase_ = Phase::over;
  actions_.push_back(std::move(end));
}

void Head::finish(int code) {
  phase_ = Phase::over;
  for (std::size_t i = 0; i < hosts_.size(); ++i) flush(static_cast<int>(i));
  actions_.push_back(FinishHead{code});
}

void Head::on_console(bool full, Time now) {
  deaf_ = full;
  for (Host& host : hosts_) host.heard = now;
}

HeadActions Head::on_passed_signal(int signal) {
  for (std::size_t i = 0; i < hosts_.size() && phase_ == Phase::run; ++i)
    if (hosts_[i].state == State::running) actions_.push_back(TellHost{static_cast<int>(i), NodeSignal{signal}});
  return take();
}

HeadActions Head::on_signal(int signal, Time) {
  if (phase_ == Phase::over) return take();
  if (phase_ != Phase::run) {
    const auto asked = names({State::asked, State::ready, State::reaching});
    actions_.push_back(
        SayLine{false, fmt::format("received {}; nothing was started yet{}", signal_name(signal),
                                   asked.empty() ? "" : fmt::format(", {} had been asked", fold_hosts(asked)))});
  }
  if (phase_ != Phase::run || ++signals_ >= signals_until_over) {
    finish(128 + signal);
    return take();
  }
  return on_passed_signal(signal);
}

void Head::on_noise(int node, std::string noise) { at(node).noise = std::move(noise); }

// Nothing was heard of it in time.
void Head::expire(int node, Time now) {
  const Host& host = at(node);
  const bool silent = !deaf_ && host.state == State::running && now - host.heard >= longest_host_silence;
  if (!silent && now < host.due) return;
  if (std::string why = why_late(host); !why.empty()) drop(node, {name(node), std::move(why), 124});
}

HeadActions Head::on_deadline(Time now) {
  if (phase_ == Phase::over) return take();
  for (std::size_t i = 0; i < hosts_.size(); ++i) expire(static_cast<int>(i), now);
  settle(now);
  if (now < beat_ || phase_ == Phase::over) return take();
  beat_ = later(now, between_beats);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const State state = hosts_[i].state;
    if (state == State::asked || state == State::ready || state == State::reaching || state == State::running)
      actions_.push_back(TellHost{static_cast<int>(i), HostBeat{}});
  }
  return take();
}

Time Head::deadline() const {
  if (phase_ == Phase::over) return never;
  Time first = beat_;
  for (const Host& host : hosts_) {
    const bool held_up = host.state == State::waiting && connecting_ >= plan_.fanout;
    if (!held_up) first = std::min(first, host.due);
    if (host.state == State::running && !deaf_) first = std::min(first, later(host.heard, longest_host_silence));
  }
  return first;
}

}  // namespace launch
