#include "whole_job.hpp"

#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace launch::sim {
using namespace std::chrono_literals;

namespace {

constexpr Duration after_waking = 500ms;    // for which a machine that was paused may still have old workers
constexpr Duration workers_patience = 60s;  // with workers that are not there
constexpr Duration to_be_told = 3s;         // by a node that has heard
constexpr Duration to_write = 200ms;        // from the start of workers to their last key
constexpr Duration to_save = 16s;           // for workers that were warned: the time-out of a shutdown, and a second
const Endpoint lasting_store{"store", 29400};
const Endpoint static_store{"n0", 29500};
const std::string workers_key = "workers/round";

}  // namespace

WholeJob::WholeJob(std::uint64_t seed, const WholeScenario& scenario)
    : events_(seed), network_(events_, scenario.longest_delay), scenario_(scenario) {
  if (scenario.hosting == Hosting::node) return;
  const bool by_launch = scenario.hosting == Hosting::launch;
  store_ = *network_.listen(lasting_store.host, lasting_store.port, by_launch);
  if (by_launch) store_->set_silence_limit(plan_heartbeat(scenario.heartbeat, scenario.nodes).silence);
}

// ---- nodes

std::string WholeJob::new_host() {
  return host_.empty() ? "n" + std::to_string(nodes_.size()) : std::exchange(host_, std::string());
}

Config WholeJob::make_config(const std::string& host) const {
  const int number = static_cast<int>(nodes_.size());
  Config config = scenario_.elastic ? play::elastic_config(host, 100 + number, {scenario_.fewest, scenario_.nodes})
                                    : play::static_config(number, scenario_.nodes);
  config.nproc_per_node = 1 + number % 3;
  config.role = number % 5 == 4 ? "reader" : "trainer";
  config.restarts.max_restarts = scenario_.max_restarts;
  config.restarts.max_membership_restarts = scenario_.most_changes;
  config.heartbeat_timeout = scenario_.heartbeat;
  config.rendezvous_timeout = 60s;
  config.shutdown_timeout = scenario_.shutdown;
  config.answers_asks = scenario_.asks;
  if (config.c10d() == nullptr) return config;
  C10dChoice& choice = play::c10d_of(config);
  choice.settings.join_timeout = scenario_.join_timeout;
  choice.joins_wait = scenario_.joins_wait;
  choice.host_moves = scenario_.moves;
  choice.by_majority = scenario_.by_majority;
  for (int i = 0; i < scenario_.listed; ++i) choice.places.push_back({"n" + std::to_string(i), choice.store.port});
  if (scenario_.listed > 0) choice.is_host.reset();
  if (scenario_.hosting == Hosting::node) return config;
  choice.is_host = false;
  choice.store = lasting_store;
  return config;
}

play::Eyes WholeJob::eyes() {
  play::Eyes eyes;
  const std::size_t at = nodes_.size();
  eyes.started = [this, at](const Round& round) { started(at, round); };
  eyes.gone = [this, at](const Round& round) { gone(at, round); };
  eyes.failed = [this, at](const Round& round, bool lost) { failed(at, round, lost); };
  eyes.exited = [this, at](int code) { ended(at, code); };
  eyes.fault = [this](const std::string& what) { fault(what); };
  return eyes;
}

play::NodeHost& WholeJob::add(play::Planner planner) {
  const Config config = make_config(new_host());
  seats_.push_back({config.role, config.nproc_per_node, true});
  auto node = std::make_unique<play::NodeHost>(network_, config, std::move(planner), eyes());
  play::NodeHost& added = *node;
  nodes_.push_back(std::move(node));
  return added;
}

play::TorchrunHost& WholeJob::add_torchrun(play::Planner planner) {
  const Config config = make_config(new_host());
  seats_.push_back({config.role, config.nproc_per_node, false});
  all_by_launch_ = false;
  ElasticSettings settings = config.c10d()->settings;
  settings.self = NodeDesc{config.hostname, config.pid, 0};
  settings.member = Member{NodeRank(0), config.role, config.nproc_per_node};
  auto node = std::make_unique<play::TorchrunHost>(network_, settings, config.store(), std::move(planner), eyes());
  node->set_max_restarts(scenario_.max_restarts);
  play::TorchrunHost& added = *node;
  nodes_.push_back(std::move(node));
  return added;
}

play::NodeHost& WholeJob::launch_node(std::size_t index) { return dynamic_cast<play::NodeHost&>(*nodes_[index]); }

void WholeJob::start(std::size_t nodes, const std::function<play::Plan(std::size_t node, const Round& round)>& plan) {
  for (std::size_t i = 0; i < nodes; ++i) add([i, plan](const Round& round) { return plan(i, round); }).start();
}

bool WholeJob::is_launch(std::size_t index) const { return seats_[index].by_launch; }

std::vector<std::size_t> WholeJob::alive() const {
  std::vector<std::size_t> result;
  for (std::size_t index = 0; index < nodes_.size(); ++index)
    if (nodes_[index]->alive()) result.push_back(index);
  return result;
}

bool WholeJob::together() const {
  if (running_.size() != 1) return false;
  const Party& party = running_.begin()->second;
  const auto all_in = [&](const auto& one) {
    return one.second.round.assignment.group_world_size == static_cast<int>(party.size());
  };
  if (!all_in(*party.begin()) || !std::all_of(party.begin(), party.end(), all_in)) return false;
  return party.size() == std::min(alive().size(), static_cast<std::size_t>(scenario_.nodes));
}

bool WholeJob::run_until_together(Duration limit) {
  return events_.run_until([this] { return together(); }, limit);
}

bool WholeJob::run_until_all_have_ended(std::int64_t round, Duration limit) {
  const std::string key = all_ended_key(round_prefix("job", round));
  return events_.run_until([&] { return store_->has(key); }, limit);
}

// The silence that the host tolerates, and two of its looks more.
Duration WholeJob::missed_after() const {
  return plan_heartbeat(scenario_.heartbeat, scenario_.nodes).silence * 11 / 10 + 100ms;
}

void WholeJob::run_to_end(Duration limit) {
  const auto all_ended = [this] { return alive().empty(); };
  while (!all_ended() && events_.now() < later(quiet_at_, limit)) {
    const Time before = events_.now();
    events_.run_until(all_ended, std::max<Duration>(later(quiet_at_, limit) - before, 1s));
    if (events_.now() == before) events_.run_until(later(before, 1s));
  }
  for (const std::size_t index : alive())
    fault(fmt::format("{} has not ended {} after the last trouble", nodes_[index]->host(), to_text(limit)));
}

std::string WholeJob::story() const {
  std::string text;
  for (const std::string& line : events_.story()) text += line + "\n";
  return text;
}

void WholeJob::fault(const std::string& what) {
  events_.note("FAULT " + what);
  faults_.push_back(what);
}

// ---- what must never be

// False for a machine that is paused or has just woken: its guard ends what is old there. False, too, if the node was
// killed, since its guard ends its workers while the others hear of the loss, or if nothing could end its workers.
bool WholeJob::judges(std::size_t node) const {
  if (nodes_[node]->immortal() || !nodes_[node]->alive()) return false;
  if (!scenario_.judges_torchrun && !seats_[node].by_launch) return false;
  return events_.now() >= later(network_.thaws_at(nodes_[node]->host()), after_waking);
}

void WholeJob::started(std::size_t node, const Round& round) {
  events_.note(fmt::format("{} starts round {}: rank {} of {}, restart {}", nodes_[node]->host(), round.number,
                           round.assignment.group_rank.value, round.assignment.group_world_size, round.restarts));
  if (all_by_launch_ && round.restarts > failures_)
    fault(fmt::format("{} counts {} restarts after {} failures", nodes_[node]->host(), round.restarts, failures_));
  const Running mine{round, node};
  const bool again = !begun_.emplace(round.number, node).second;
  if (again && all_by_launch_ && !running_[round.number].empty())
    fault(
        fmt::format("{} starts workers of round {} again beside those of others", nodes_[node]->host(), round.number));
  if (judges(node)) check(mine);
  if (judges(node) && seats_[node].by_launch) meet(mine);
  running_[round.number].emplace(round.assignment.group_rank.value, mine);
  ++started_;
  if (!seats_[node].by_launch) events_.in(workers_patience, [this, mine] { miss_others(mine); });
}

// Workers find no keys of another round where they meet, and what they write there stays.
void WholeJob::meet(const Running& mine) {
  const Endpoint place = mine.round.master.value_or(static_store);
  const auto store = network_.store_at(place);
  if (!store) return;
  const std::string number = std::to_string(mine.round.number);
  const std::string there(store->agents().table().get(workers_key).value_or(number));
  if (there != number)
    fault(fmt::format("workers of {} find keys of round {} in round {}", nodes_[mine.node]->host(), there, number));
  store->agents().table().preset(workers_key, number);
  events_.in(to_write, [this, mine, place, number] {
    const auto still = network_.store_at(place);
    const auto& round = nodes_[mine.node]->running();
    if (!still || !round || round->number != mine.round.number || running_.size() != 1) return;
    if (!nodes_[mine.node]->undisturbed() || !judges(mine.node)) return;
    if (still->agents().table().get(workers_key) != number)
      fault(fmt::format("workers of {} lose their keys", nodes_[mine.node]->host()));
  });
}

// PyTorch's workers wait for each other when they begin, and give up. torchrun does not notice that it was thrown out.
void WholeJob::miss_others(const Running& one) {
  const auto& still = nodes_[one.node]->running();
  if (!still || still->number != one.round.number) return;
  if (static_cast<int>(running_[still->number].size()) == still->assignment.group_world_size) return;
  events_.note(nodes_[one.node]->host() + " has workers that miss others");
  nodes_[one.node]->fail_workers(true);
}

void WholeJob::freeze(std::size_t index, Duration duration) {
  nodes_[index]->freeze(duration);
  events_.in(duration + after_waking + 1ms, [this, index] {
    const auto& round = nodes_[index]->running();
    if (round && judges(index)) check({*round, index});
  });
}

// Checks it against all nodes of other rounds, and those nearest by rank of its own round. The order of ranks makes the
// rest follow.
void WholeJob::check(const Running& mine) {
  for (const auto& [number, party] : running_)
    if (number != mine.round.number)
      for (const auto& [rank, other] : party)
        if (judges(other.node)) check_pair(mine, other);
  const auto party = running_.find(mine.round.number);
  if (party == running_.end()) return;
  const int rank = mine.round.assignment.group_rank.value;
  const auto is_last = [&](const auto& one) {
    const Running& other = one.second;
    if (other.node == mine.node || !judges(other.node)) return false;
    check_pair(mine, other);
    return seats_[other.node].role == seats_[mine.node].role;
  };
  (void)std::find_if(party->second.lower_bound(rank), party->second.end(), is_last);
  (void)std::find_if(std::make_reverse_iterator(party->second.upper_bound(rank)), party->second.rend(), is_last);
}

std::string WholeJob::pair(const Running& one, const Running& other) const {
  return nodes_[one.node]->host() + " and " + nodes_[other.node]->host();
}

void WholeJob::check_pair(const Running& one, const Running& other) {
  if (one.round.number != other.round.number)
    return fault(fmt::format("{} have workers of rounds {} and {} at once", pair(one, other), one.round.number,
                             other.round.number));
  check_ranks(one, other);
  if (!seats_[one.node].by_launch || !seats_[other.node].by_launch) return;  // torchrun's nodes count for themselves
  if (one.round.restarts != other.round.restarts)
    fault(fmt::format("{} count {} and {} restarts", pair(one, other), one.round.restarts, other.round.restarts));
  if (one.round.master != other.round.master)
    fault(fmt::format("{} let their workers meet in two places", pair(one, other)));
}

// Ranks are in the order of nodes, and no two workers have the same one.
void WholeJob::check_ranks(const Running& one, const Running& other) {
  const bool first = one.round.assignment.group_rank < other.round.assignment.group_rank;
  const Running& before = first ? one : other;
  const Running& after = first ? other : one;
  const Assignment& a = before.round.assignment;
  const Assignment& b = after.round.assignment;
  const int workers = seats_[before.node].workers;
  if (a.group_rank == b.group_rank) fault(fmt::format("{} have node rank {}", pair(one, other), a.group_rank.value));
  // In torchrun's store a node that leaves at once is not seen by those that look later.
  const bool same_nodes = a.group_world_size == b.group_world_size || scenario_.hosting == Hosting::torchrun;
  if (a.world_size != b.world_size || !same_nodes) fault(pair(one, other) + " do not agree how many they are");
  if (a.base_global_rank.value + workers > b.base_global_rank.value)
    fault(pair(one, other) + " have ranks of each other");
  if (b.base_global_rank.value + seats_[after.node].workers > b.world_size)
    fault(pair(one, other) + " have a rank too high");
  if (seats_[before.node].role != seats_[after.node].role) return;
  if (a.role_world_size != b.role_world_size || a.base_role_rank + workers > b.base_role_rank)
    fault(pair(one, other) + " have role ranks of each other");
}

void WholeJob::gone(std::size_t node, const Round& round) {
  events_.note(nodes_[node]->host() + " has no workers any more");
  Party& party = running_[round.number];
  std::erase_if(party, [&](const auto& one) { return one.second.node == node; });
  if (party.empty()) running_.erase(round.number);
}

// How long it takes at most until every node has told its workers to exit, once the network is well. That a store is
// lost takes two time-outs.
Duration WholeJob::told_after() const {
  const bool store_lost = scenario_.hosting == Hosting::node && !nodes_.front()->alive();
  const Duration noticed = store_lost ? scenario_.heartbeat * 2 : missed_after();
  return noticed + to_be_told + (time_to_save_ ? to_save : Duration());
}

void WholeJob::failed(std::size_t node, const Round& round, bool lost) {
  events_.note(fmt::format("{}: workers {}", nodes_[node]->host(), lost ? "are lost" : "fail"));
  if (!lost) ++failures_;
  if (!lost) at_fault_.insert(nodes_[node]->host());
  if (!all_by_launch_ || scenario_.hosting == Hosting::torchrun) return;
  check_told({node, round, events_.now()});
}

// Everybody knows of a failure: no node lets the workers of that round run on.
void WholeJob::check_told(const Failed& failed) {
  const Time due = later(std::max(failed.since, network_.well_at()), told_after());
  if (events_.now() < due) return events_.at(due, [this, failed] { check_told(failed); });
  const auto party = running_.find(failed.round.number);
  if (party == running_.end()) return;
  // A node that has slept through that round may have begun another one of this number when its only host had ended.
  for (const auto& [rank, one] : party->second)
    if (one.round.master == failed.round.master && nodes_[one.node]->undisturbed())
      fault(fmt::format("{} has not heard that workers of {} failed", nodes_[one.node]->host(),
                        nodes_[failed.node]->host()));
}

void WholeJob::ended(std::size_t node, int code) {
  events_.note(fmt::format("{} ends with {}", nodes_[node]->host(), code));
  on_end_(node);
  if (seats_[node].by_launch) check_patience(node);
  if (seats_[node].by_launch) check_blame(node);
  if (!same_ends_ || !nodes_[node]->formed()) return;  // a node that never took part exits with its own code
  if (code_.value_or(code) != code)
    fault(fmt::format("{} ends with {}, others with {}", nodes_[node]->host(), code, *code_));
  code_ = code;
  if (seats_[node].by_launch) compare_verdicts(node);
}

// No node that had its part, or that is one too many, waits in vain for others that are there.
void WholeJob::check_patience(std::size_t node) {
  const auto& report = launch_node(node).report();
  const bool waited = report && report->end.first && report->end.first->what.find("timed out") != std::string::npos;
  if (!waited || !scenario_.elastic || scenario_.by_majority || !all_by_launch_ || any_immortal()) return;
  if (has_lost_store_ || (scenario_.hosting == Hosting::node && !nodes_.front()->alive())) return;
  if (later(network_.well_at(), scenario_.join_timeout + to_be_told) > events_.now()) return;
  const auto others = alive();
  const bool enough = static_cast<int>(others.size()) >= scenario_.fewest;
  if (enough) fault(fmt::format("{} gives up though {} nodes are there", nodes_[node]->host(), others.size()));
}

// Workers that launch or a guard has ended are not the reason for anything.
void WholeJob::check_blame(std::size_t node) {
  const auto& report = launch_node(node).report();
  if (!report || !report->end.first || report->end.first->kind != Failure::Kind::worker) return;
  const std::string& host = report->end.first->host;
  if (!at_fault_.contains(host)) fault(fmt::format("{} blames workers of {}", nodes_[node]->host(), host));
}

bool WholeJob::any_immortal() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->immortal(); });
}

// All nodes tell the user of the same first failure; but each one that has processes which nothing ends says so.
void WholeJob::compare_verdicts(std::size_t node) {
  if (nodes_[node]->immortal()) return;
  const auto& report = launch_node(node).report();
  const std::string verdict = report && report->end.first ? describe(*report->end.first) : "";
  if (verdict_.value_or(verdict) != verdict)
    fault(fmt::format("{} says: {}; others say: {}", nodes_[node]->host(), verdict, *verdict_));
  verdict_ = verdict;
}

}  // namespace launch::sim
