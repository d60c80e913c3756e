#include "launch/core/hosts/head.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_notices.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <algorithm>
#include <csignal>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr int signals_until_over = 3;
// They may know, and have a report of their own. That a node is lost, they find out by themselves if it had joined.
constexpr Duration before_others_stop = std::chrono::seconds(5);
constexpr Duration before_those_who_lost_stop = std::chrono::seconds(60);

// Nothing if it is the only host, about which a line was said just before.
std::string who_cannot(std::size_t count, std::size_t all) {
  if (all == 1) return "";
  if (count == all) return "no host can take part";
  return fmt::format("{} of {} cannot take part", count, counted(static_cast<int>(all), "host"));
}

}  // namespace

Head::Head(HeadPlan plan, std::uint64_t seed) : table_(std::move(plan)), gathering_(table_, seed) {}

std::string Head::progress() const {
  if (phase_ == Phase::run || phase_ == Phase::over) return "";
  return table_.progress({{"connecting to", {State::connecting, State::waiting}},
                          {"checking", {State::asked}},
                          {"looking for an address of node 0 that is reached from", {State::reaching}}});
}

HeadActions Head::start(Time now) {
  table_.start_beats(now);
  gathering_.connect_more(now);
  return table_.take();
}

HeadActions Head::on_greeting(int node, const Greeting& greeting, Time now) {
  table_.at(node).heard = now;
  if (phase_ == Phase::over) return table_.take();
  gathering_.on_greeting(node, greeting, now);
  settle(now);
  return table_.take();
}

HeadActions Head::on_message(int node, HostMessage message, Time now) {
  table_.at(node).heard = now;
  if (phase_ == Phase::over) return table_.take();
  const State before = table_.at(node).state;
  std::visit([&](const auto& one) { on(node, one, now); }, message);
  if (table_.at(node).state != before) settle(now);
  return table_.take();
}

// A remote never says it.
template <class Other>
void Head::on(int node, const Other&, Time) {
  if constexpr (!std::is_same_v<Other, HostBeat>) table_.nonsense(node, "a message that only the head sends");
}

void Head::on(int node, const NodeReady& ready, Time) { gathering_.on_ready(node, ready); }

void Head::on(int node, const NodeCannot& cannot, Time) { gathering_.on_cannot(node, cannot); }

// Goes on if nothing is waited for any more.
void Head::settle(Time now) {
  if (phase_ == Phase::gather) {
    gathering_.connect_more(now);
    if (!gathering_.done()) return;
    table_.problems().empty() ? look_for_address(now) : give_up();
  } else if (phase_ == Phase::reach) {
    settle_reach(now);
  } else if (phase_ == Phase::run) {
    settle_run(now);
  }
}

// Before anything was started.
void Head::give_up() {
  const auto& problems = table_.problems();
  table_.say(problems);
  const int code = problems.front().exit_code;
  const bool same = std::all_of(problems.begin(), problems.end(),
                                [code](const HostProblem& problem) { return problem.exit_code == code; });
  const std::string who = who_cannot(problems.size(), table_.hosts().size());
  table_.add(SayLine{true, fmt::format("{}so nothing was started", who.empty() ? "" : who + ", ")});
  const std::string what = who.empty() ? "the host cannot take part" : who;
  finish({Failure::Kind::start, same ? code : 1, what, problems});
}

void Head::warn_of_hosts() {
  std::vector<ReadyHost> hosts;
  hosts.reserve(table_.hosts().size());
  for (int node = 0; node < table_.size(); ++node) hosts.push_back({table_.name(node), table_.at(node).ready});
  for (std::string& notice : notices_on_hosts(hosts)) table_.add(WarnLine{std::move(notice)});
}

void Head::look_for_address(Time now) {
  warn_of_hosts();
  if (table_.hosts().size() == 1) return go("", now);
  phase_ = Phase::reach;
  const NodeReady& first = table_.hosts().front().ready;
  auto candidates = on_network(first.addresses, first.interfaces, table_.plan().network);
  if (!candidates) {
    const HostProblem problem{table_.name(0), candidates.error().message, 2};
    table_.add(SayLine{true, fmt::format("{}: {}", problem.host, problem.reason)});
    return finish({Failure::Kind::rendezvous, 2, "the nodes have no network in common", {problem}});
  }
  search_ = AddressSearch(*std::move(candidates), table_.is_one_machine() && table_.plan().network.empty());
  ask_who_reaches(now);
}

void Head::ask_who_reaches(Time now) {
  const ReachQuestion question{search_.asked(), table_.hosts().front().ready.port, table_.plan().run_id};
  for (int node = 1; node < table_.size(); ++node) {
    table_.move(node, State::reaching, now);
    table_.add(TellHost{node, question});
  }
}

void Head::on(int node, const ReachAnswer& answer, Time) {
  if (table_.at(node).state != State::reaching) return;
  table_.at(node).reach = answer;
  table_.move(node, State::ready, never);
}

void Head::settle_reach(Time now) {
  if (!table_.problems().empty()) return give_up();
  if (table_.count(State::reaching) > 0) return;
  std::vector<ReachRow> rows;
  for (int node = 1; node < table_.size(); ++node) rows.push_back({table_.name(node), table_.at(node).reach.faults});
  if (const auto address = choose_address(search_.asked(), rows)) return go(*address, now);
  if (search_.ask_for_more()) return ask_who_reaches(now);
  const NodeReady& first = table_.hosts().front().ready;
  const ReachFacts facts{table_.name(0), first.port, search_.asked(), shown_addresses(search_.asked(), first)};
  for (std::string& line : explain_reach(facts, rows)) table_.add(SayLine{true, std::move(line)});
  finish({Failure::Kind::rendezvous, 1, "no address of node 0 is reached from all hosts", reach_problems(facts, rows)});
}

void Head::go(const std::string& address, Time now) {
  phase_ = Phase::run;
  begin_streams();
  const Endpoint store{address, table_.hosts().front().ready.port};
  for (int node = 0; node < table_.size(); ++node) {
    table_.move(node, State::running, never);
    table_.at(node).heard = now;
    NodeGo message{node_line(table_.plan(), node, store), table_.plan().sets_interface ? address : ""};
    message.input = input_.gets(node);
    table_.add(TellHost{node, std::move(message)});
  }
}

// How many workers there are is known now.
void Head::begin_streams() {
  std::vector<int> workers;
  std::int64_t all = 0;
  for (const HeadHost& host : table_.hosts()) {
    workers.push_back(host.ready.workers);
    all += host.ready.workers;
  }
  input_ = InputWindow(table_.plan().input, workers);
  if (table_.plan().folds) table_.fold(static_cast<int>(std::min<std::int64_t>(all, std::numeric_limits<int>::max())));
}

bool Head::wants_input() const {
  return phase_ == Phase::run &&
         input_.wants_more([this](int node) { return table_.at(node).state == State::running; });
}

HeadActions Head::on_input(const std::string& bytes) {
  if (phase_ != Phase::run) return table_.take();
  input_.sent(bytes.size());
  for (const int node : input_.readers())
    if (table_.at(node).state == State::running) table_.add(TellHost{node, NodeInput{bytes}});
  return table_.take();
}

void Head::on(int node, const NodeTook& took, Time) { input_.taken(node, took.bytes); }

void Head::on(int node, const NodeOutput& output, Time now) {
  HeadHost& host = table_.at(node);
  if (host.state != State::running) return;
  std::string lines;
  (output.errors ? host.err : host.out).feed(output.bytes, [&](std::string_view line) {
    if (!output.errors || !LaunchLines::is_one(line)) return table_.take(output.errors, line, now, lines);
    if (const auto said = said_.as_shown(node, table_.name(node), line)) table_.take(true, *said, now, lines);
  });
  if (!lines.empty()) table_.add(ShowLines{output.errors, std::move(lines)});
}

void Head::on(int node, const NodeFile& file, Time) {
  if (table_.at(node).state == State::running && table_.plan().gathers_logs) table_.add(StoreFile{node, file});
}

void Head::on(int node, const NodeEnd& end, Time now) {
  HeadHost& host = table_.at(node);
  if (host.state != State::running) return;
  host.end = end;
  host.has_ended = end.files_follow;
  if (end.files_follow) return table_.flush(node);
  if (const std::string why = signals_ == 0 ? why_lost(end, table_.plan().requeue_exit) : ""; !why.empty()) {
    host.end.exit_code = 1;
    table_.lose(node, {table_.name(node), why, 1});
  } else {
    table_.flush(node);
    table_.move(node, State::ended, never);
    if (has_not_joined(end, table_.plan().requeue_exit))
      expect_end_of_others(Failure::Kind::start, {table_.name(node), why_early(end), end.exit_code},
                           later(now, before_others_stop));
  }
  if (table_.plan().gathers_logs) table_.add(EndFiles{node});
  table_.plan().keeps_output ? table_.confirm(node) : table_.leave_unless_needed(node);
}

HeadActions Head::on_nonsense(int node, const std::string& what, Time now) {
  if (phase_ != Phase::over) table_.nonsense(node, what);
  settle(now);
  return table_.take();
}

HeadActions Head::on_lost(const LostConnection& lost, int node, Time now) {
  HeadHost& host = table_.at(node);
  table_.disconnect(node);
  if (phase_ == Phase::over || host.state == State::ended || host.state == State::lost) return table_.take();
  if (host.state == State::waiting || host.state == State::connecting) {
    gathering_.on_lost(lost, node, now);
    return settle(now), table_.take();
  }
  HostProblem problem = explain(lost);
  if (host.state == State::running)
    problem = {"", fmt::format("the connection has ended, so its node ends ({})", problem.reason), 1};
  table_.drop(node, {table_.name(node), problem.reason, problem.exit_code});
  settle(now);
  return table_.take();
}

void Head::expect_end_of_others(Failure::Kind kind, HostProblem problem, Time due) {
  if (table_.plan().c10d || early_.stops_others || due >= early_.due) return;
  early_ = {kind, std::move(problem), due};
}

// They would wait for it until the time-out of the rendezvous.
void Head::stop_others(Time now) {
  if (now < early_.due) return;
  if (deaf_) return;  // their ends may have come
  early_.due = never;
  if (phase_ != Phase::run || signals_ > 0 || !table_.some_run()) return;
  early_.stops_others = true;
  const std::string what =
      early_.kind == Failure::Kind::lost
          ? fmt::format("{} is lost, and the other nodes have not ended by themselves within {}; stopping them",
                        early_.problem.host, to_text(before_those_who_lost_stop))
          : fmt::format("{}: {}; stopping the other nodes", early_.problem.host, early_.problem.reason);
  table_.add(SayLine{true, what});
  pass(SIGTERM);
}

// When no node runs any more. The hosts that were lost do not count if the others have gone on without them.
void Head::settle_run(Time now) {
  if (!table_.losses().empty())
    expect_end_of_others(Failure::Kind::lost, table_.losses().front(), later(now, before_those_who_lost_stop));
  if (table_.count(State::running) > 0) return;
  if (early_.stops_others && !table_.has_report()) return finish(end_of_early());
  const bool went_on = table_.plan().c10d && table_.count(State::ended) > 0;
  FinishHead end;
  for (const HeadHost& host : table_.hosts())
    if ((!went_on || host.state == State::ended) && !(early_.stops_others && was_told_to_stop(host.end.json)))
      add_end(end, host.end);
  const bool by_loss = signals_ == 0 && (end.exit_code == 128 + SIGTERM || end.report.empty());
  const bool lost = table_.count(State::lost) > 0;
  if (lost && !went_on && (end.exit_code == 0 || by_loss)) end.exit_code = 1;
  const bool untold = went_on || blames_the_store(end.json);  // the loss of a host, by the node that reports
  if (lost && untold && !end.report.empty()) end.report = report_with(std::move(end.report), table_.losses());
  const bool ended_well = end.exit_code == 0 || (end.exit_code == table_.plan().requeue_exit && end.report.empty());
  if (!ended_well && end.json.empty()) {
    end.json = head_verdict(table_.plan(), unreported(end.exit_code));
  } else if (lost && !end.json.empty()) {
    end.json = verdict_with(std::move(end.json), table_.losses());
  }
  end.began = true;
  phase_ = Phase::over;
  table_.add(std::move(end));
}

HeadFailure Head::end_of_early() const {
  const HostProblem& problem = early_.problem;
  return {early_.kind, problem.exit_code, fmt::format("{}: {}", problem.host, problem.reason), {problem}};
}

// Why no node has sent a report.
HeadFailure Head::unreported(int code) const {
  HeadFailure failure{Failure::Kind::lost, code, "", table_.losses()};
  for (int node = 0; node < table_.size(); ++node)
    if (const int own = table_.at(node).end.exit_code; table_.at(node).state == State::ended && own != 0)
      failure.problems.push_back(
          {table_.name(node), fmt::format("launch there has ended with exit code {}", own), own});
  if (signals_ > 0) failure.kind = Failure::Kind::signal;
  failure.what = signals_ > 0 ? "launch was told to stop, and no host has sent a report" : "no host has sent a report";
  if (std::ranges::any_of(table_.hosts(), [](const HeadHost& host) { return !host.end.report.empty(); }))
    failure.what = "no host has sent its report as JSON; the text has more";
  return failure;
}

// Without the nodes' end.
void Head::finish(const HeadFailure& failure) {
  const bool began = phase_ == Phase::run && failure.kind != Failure::Kind::start;
  phase_ = Phase::over;
  for (std::size_t i = 0; i < table_.hosts().size(); ++i) table_.flush(static_cast<int>(i));
  table_.add(FinishHead{failure.exit_code, "", head_verdict(table_.plan(), failure), began});
}

// A signal has ended the head.
void Head::stop(int signal) {
  const bool began = phase_ == Phase::run;
  HeadFailure failure{Failure::Kind::signal, 128 + signal,
                      fmt::format("launch was told to stop by {}{}", signal_name(signal),
                                  began ? ", and did not wait for the nodes" : "; nothing was started"),
                      began ? table_.losses() : table_.problems()};
  for (const std::string& host : table_.names({State::waiting, State::connecting, State::asked, State::reaching}))
    failure.problems.push_back({host, "had not answered yet", failure.exit_code});
  finish(failure);
}

void Head::on_console(bool full, Time now) {
  deaf_ = full;
  for (HeadHost& host : table_.hosts()) host.heard = now;
}

void Head::pass(int signal) {
  for (std::size_t i = 0; i < table_.hosts().size() && phase_ == Phase::run; ++i)
    if (table_.hosts()[i].state == State::running) table_.add(TellHost{static_cast<int>(i), NodeSignal{signal}});
}

HeadActions Head::on_signal(int signal, Time) {
  if (phase_ == Phase::over) return table_.take();
  const std::string received = fmt::format("received {}", signal_name(signal));
  const bool runs = phase_ == Phase::run;
  if (runs && ++signals_ < signals_until_over) {
    if (signals_ == 1)
      table_.add(SayLine{false, fmt::format("{}; telling {}", received, fold_hosts(table_.names({State::running})))});
    return pass(signal), table_.take();
  }
  if (runs) {
    const auto left = fold_hosts(table_.names({State::running}));
    table_.add(
        SayLine{false, fmt::format("{} again; not waiting for {}, whose nodes end by themselves", received, left)});
  } else {
    const auto asked = table_.names({State::asked, State::ready, State::reaching});
    table_.add(SayLine{false, fmt::format("{}; nothing was started yet{}", received,
                                          asked.empty() ? "" : fmt::format(", {} had been asked", fold_hosts(asked)))});
  }
  stop(signal);
  return table_.take();
}

void Head::on_noise(int node, std::string noise) { table_.at(node).noise = std::move(noise); }

// Nothing was heard of it in time.
void Head::expire(int node, Time now, bool slept) {
  if (!deaf_) table_.drop_if_silent(node, now, slept);
  gathering_.expire(node, now, 124);
}

HeadActions Head::on_deadline(Time now) {
  if (phase_ == Phase::over) return table_.take();
  const bool slept = has_slept(deadline(), now, table_.plan().silence);
  for (std::size_t i = 0; i < table_.hosts().size(); ++i) expire(static_cast<int>(i), now, slept);
  stop_others(now);
  table_.show_folded(now);
  settle(now);
  if (phase_ != Phase::over) table_.beat(now);
  return table_.take();
}

Time Head::deadline() const {
  if (phase_ == Phase::over) return never;
  Time first = std::min({table_.next_beat(), table_.fold_due(), deaf_ ? never : early_.due});
  for (const HeadHost& host : table_.hosts()) {
    if (!gathering_.is_held_up(host)) first = std::min(first, host.due);
    if (host.state == State::running && !deaf_) first = std::min(first, later(host.heard, table_.plan().silence));
  }
  return first;
}

}  // namespace launch
