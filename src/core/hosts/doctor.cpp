#include "launch/core/hosts/doctor.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_check.hpp"
#include "launch/core/hosts/host_reach.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

// What a host in this state has not passed.
const char* check_in(HeadHost::State state) {
  switch (state) {
    case HeadHost::State::asked:
      return "job";
    case HeadHost::State::reaching:
      return "network";
    default:
      return "login";
  }
}

std::string text_of_lines(const std::vector<std::string>& lines) { return fmt::format("{}\n", fmt::join(lines, "\n")); }

// That of the interface which has one of these addresses; 0: it is not known.
int mtu_at(const std::vector<SurveyedInterface>& interfaces, const std::vector<std::string>& addresses) {
  for (const SurveyedInterface& one : interfaces)
    if (std::find_first_of(one.addresses.begin(), one.addresses.end(), addresses.begin(), addresses.end()) !=
        one.addresses.end())
      return one.mtu;
  return 0;
}

}  // namespace

Doctor::Doctor(HeadPlan plan, std::uint64_t seed, Instant start)
    : table_(std::move(plan)), gathering_(table_, seed), start_(start), patients_(table_.hosts().size()) {
  for (const HeadNode& node : table_.plan().nodes) names_.push_back(node.host);
}

WallTime Doctor::wall(Time time) const {
  return start_.wall + std::chrono::duration_cast<WallTime::duration>(time - start_.time);
}

std::string Doctor::progress() const {
  return table_.progress({{"connecting to", {State::connecting, State::waiting}},
                          {"looking over", {State::asked}},
                          {"trying the network from", {State::reaching}}});
}

// What has gone wrong with this host since the last time becomes rows.
void Doctor::file(int node, const char* check) {
  for (; filed_ < table_.problems().size(); ++filed_)
    rows_.push_back({node, check, CheckLevel::fault, table_.problems()[filed_].reason});
}

HeadActions Doctor::start(Time now) {
  table_.start_beats(now);
  gathering_.connect_more(now);
  return table_.take();
}

HeadActions Doctor::on_greeting(int node, const Greeting& greeting, Time now) {
  if (phase_ == Phase::over) return table_.take();
  gathering_.on_greeting(node, greeting, now);
  if (table_.at(node).state == State::asked) patient(node).asked = now;
  file(node, "launch");
  settle(now);
  return table_.take();
}

void Doctor::on_noise(int node, std::string noise) { table_.at(node).noise = std::move(noise); }

HeadActions Doctor::on_message(int node, HostMessage message, Time now) {
  if (phase_ == Phase::over) return table_.take();
  const State before = table_.at(node).state;
  std::visit([&](const auto& one) { on(node, one, now); }, message);
  file(node, check_in(before));
  if (table_.at(node).state != before) settle(now);
  return table_.take();
}

// A remote says none of these during a check.
template <class Other>
void Doctor::on(int node, const Other&, Time) {
  if constexpr (!std::is_same_v<Other, HostBeat>) table_.nonsense(node, "a message that is no part of a check");
}

void Doctor::on(int node, const NodeReady& ready, Time now) {
  if (table_.at(node).state != State::asked) return;
  auto survey = parse_survey(ready.facts);
  if (!survey) return table_.nonsense(node, survey.error().message);
  Patient& one = patient(node);
  one.answered = now;
  one.surveyed = true;
  one.survey = *std::move(survey);
  gathering_.on_ready(node, ready);
}

void Doctor::on(int node, const NodeCannot& cannot, Time) { gathering_.on_cannot(node, cannot); }

void Doctor::on(int node, const ReachAnswer& answer, Time) {
  if (table_.at(node).state != State::reaching) return;
  table_.at(node).reach = answer;
  patient(node).tried = true;
  table_.move(node, State::ready, never);
}

HeadActions Doctor::on_nonsense(int node, const std::string& what, Time now) {
  if (phase_ == Phase::over) return table_.take();
  table_.nonsense(node, what);
  file(node, "launch");
  settle(now);
  return table_.take();
}

HeadActions Doctor::on_lost(const LostConnection& lost, int node, Time now) {
  HeadHost& host = table_.at(node);
  table_.disconnect(node);
  if (phase_ == Phase::over || host.state == State::ended) return table_.take();
  if (host.state == State::waiting || host.state == State::connecting) {
    gathering_.on_lost(lost, node, now);
  } else {
    const HostProblem problem = explain(lost);
    table_.drop(node, {table_.name(node), fmt::format("the connection has ended ({})", problem.reason), 1});
  }
  file(node, lacks_launch(lost) ? "launch" : "login");
  settle(now);
  return table_.take();
}

void Doctor::expire(int node, Time now) {
  const State before = table_.at(node).state;
  gathering_.expire(node, now, 1);
  file(node, check_in(before));
}

HeadActions Doctor::on_deadline(Time now) {
  if (phase_ == Phase::over) return table_.take();
  for (int node = 0; node < table_.size(); ++node) expire(node, now);
  settle(now);
  if (phase_ != Phase::over) table_.beat(now);
  return table_.take();
}

Time Doctor::deadline() const {
  if (phase_ == Phase::over) return never;
  Time first = table_.next_beat();
  for (const HeadHost& host : table_.hosts())
    if (!gathering_.is_held_up(host)) first = std::min(first, host.due);
  return first;
}

HeadActions Doctor::on_signal(int signal, Time) {
  if (phase_ == Phase::over) return table_.take();
  examine();
  show(fmt::format("Received {} before all had answered: this is what is known.", signal_name(signal)), 128 + signal);
  return table_.take();
}

// Goes on if nothing is waited for any more.
void Doctor::settle(Time now) {
  if (phase_ == Phase::gather) {
    gathering_.connect_more(now);
    if (gathering_.done()) ask_for_pairs(now);
  }
  if (phase_ != Phase::pairs || table_.count(State::reaching) > 0) return;
  examine();
  const CheckVerdict verdict = verdict_of(rows_, names_);
  show(verdict.line, verdict.exit_code);
}

void Doctor::ask_for_pairs(Time now) {
  phase_ = Phase::pairs;
  std::vector<PairPlace> places;
  for (int node = 0; node < table_.size(); ++node) {
    const HeadHost& host = table_.at(node);
    if (host.state != State::ready || host.ready.port == 0) continue;
    auto addresses = on_network(host.ready.addresses, host.ready.interfaces, table_.plan().network);
    if (addresses) {
      places.push_back(
          {node, host.ready.hostname, *std::move(addresses), host.ready.port, token_of(table_.plan(), node)});
    } else {
      rows_.push_back({node, "network", CheckLevel::fault, addresses.error().message});
    }
  }
  for (std::size_t i = 0; i < places.size() && places.size() > 1; ++i) {
    const int node = places[i].node;
    patient(node).tries = tries_of(i, places);
    table_.move(node, State::reaching, now);
    table_.add(TellHost{node, question_of(patient(node).tries)});
  }
}

void Doctor::add(std::vector<CheckRow> rows) {
  rows_.insert(rows_.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

// All that is known becomes rows.
void Doctor::examine() {
  look_at_access();
  std::vector<SurveyedHost> surveyed;
  for (int node = 0; node < table_.size(); ++node) {
    const Patient& one = patient(node);
    if (!one.surveyed) continue;
    const NodeReady& ready = table_.at(node).ready;
    add(check_host(node, one.survey, table_.plan().check->needs[static_cast<std::size_t>(node)]));
    surveyed.push_back({node, ready.boot_id, ready.addresses, one.survey});
  }
  add(compare_hosts(surveyed, names_));
  look_at_clocks();
  look_at_network();
}

void Doctor::look_at_access() {
  for (int node = 0; node < table_.size(); ++node) {
    const HeadHost& host = table_.at(node);
    if (host.state != State::ended && !patient(node).surveyed)
      rows_.push_back({node, "login", CheckLevel::warning, "it has not answered yet"});
    if (!patient(node).surveyed) continue;
    rows_.push_back({node, "login", CheckLevel::ok, "it answers"});
    rows_.push_back({node, "launch", CheckLevel::ok,
                     host.copies ? "it was sent there, as a job would do: that host has none, or another version"
                                 : "version " + table_.plan().version});
  }
}

void Doctor::look_at_clocks() {
  std::vector<ClockOffset> clocks;
  for (int node = 0; node < table_.size(); ++node) {
    const Patient& one = patient(node);
    if (!one.surveyed || one.survey.asked_us == 0) continue;
    const auto there = [](std::int64_t time) { return WallTime(std::chrono::microseconds(time)); };
    clocks.push_back(measure_clock(
        node, {wall(one.asked), wall(one.answered), there(one.survey.asked_us), there(one.survey.answered_us)}));
  }
  add(check_clocks(clocks));
}

void Doctor::look_at_network() {
  std::vector<std::vector<std::string>> reached(patients_.size());
  for (int node = 0; node < table_.size(); ++node) {
    const Patient& one = patient(node);
    if (!one.tried) {
      if (table_.at(node).state == State::reaching)
        rows_.push_back({node, "network", CheckLevel::warning, "it has not said yet whom it reaches"});
      continue;
    }
    const ReachAnswer& answer = table_.at(node).reach;
    add(check_pairs(node, one.tries, answer, names_));
    for (std::size_t other = 0; other < reached.size(); ++other)
      for (std::string& address : reached_addresses(static_cast<int>(other), one.tries, answer))
        reached[other].push_back(std::move(address));
  }
  std::vector<HostValue> mtus;
  for (int node = 0; node < table_.size(); ++node)
    if (const int mtu = mtu_at(patient(node).survey.interfaces, reached[static_cast<std::size_t>(node)]); mtu > 0)
      mtus.push_back({node, std::to_string(mtu)});
  add(compare_values("mtu", mtus, names_));
}

void Doctor::show(const std::string& verdict, int code) {
  phase_ = Phase::over;
  std::vector<std::string> lines = table_.plan().check->json ? check_lines(rows_, names_) : check_table(rows_, names_);
  if (!table_.plan().check->json) lines.push_back(verdict);
  table_.add(ShowLines{false, text_of_lines(lines)});
  table_.add(FinishHead{code});
}

}  // namespace launch
