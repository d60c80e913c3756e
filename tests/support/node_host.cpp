#include "node_host.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace launch::play {
using namespace std::chrono_literals;

namespace {

constexpr Duration stacks_take = 200ms;
constexpr Duration late = 1s;
constexpr Duration shortly = 1ms;
constexpr Duration long_after = 60s;
constexpr Duration most_patience = 2s;  // with answers of other nodes
constexpr Duration to_be_sure = 8s;     // for a session that it has lost the store

constexpr ExitStatus exited(int code) { return {ExitStatus::Kind::exited, code}; }
constexpr ExitStatus killed(int number) { return {ExitStatus::Kind::signalled, number}; }

}  // namespace

NodeHost::NodeHost(Network& network, Config config, Planner planner, Eyes eyes)
    : AgentHost(
          network, config.hostname, [this](Answer answer) { feed(std::move(answer)); }, std::move(planner),
          std::move(eyes)),
      config_(std::move(config)),
      node_(config_, {config_.pid, network.events().random().next()}) {}

void NodeHost::start() {
  feed(OpenSession{});
  if (!alive()) return;
  if (!*opened_) return exit(1);
  feed(StartNode{});
}

void NodeHost::feed(NodeEvent event) {
  if (!alive()) return;
  fed_.push_back(std::move(event));
  if (std::exchange(feeding_, true)) return;
  while (alive() && !fed_.empty()) {
    NodeEvent next = std::move(fed_.front());
    fed_.pop_front();
    for (NodeAction& action : node_.on(std::move(next), moment())) {
      if (!alive()) break;
      if (++steps_ == chosen_step_) at_step_();
      if (alive()) std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
    }
  }
  feeding_ = false;
  if (alive()) wake_at(node_.deadline(), [this] { feed(MomentReached{}); });
}

// ---- what befalls it

void NodeHost::at_step(std::uint64_t steps, std::function<void()> what) {
  chosen_step_ = steps;
  at_step_ = std::move(what);
}

void NodeHost::kill_after(std::uint64_t steps) {
  at_step(steps, [this] { kill(); });
}

void NodeHost::signal(int number) { tell_to_end(FromHost{SignalReceived{number, "", number}}); }

void NodeHost::warn(int number) {
  if (running()) {
    warned_ = true;
    warned_at_ = network_.events().now();
  }
  feed(FromHost{Warned{number}});
}

void NodeHost::drain() { tell_to_end(FromHost{LeaveAsked{"a user"}}); }

void NodeHost::tell_to_end(NodeEvent how) {
  signalled_ = true;
  if (undisturbed()) eyes_.failed(*running(), true);
  feed(std::move(how));
}

void NodeHost::lose_guard() {
  hastened_ = true;
  if (undisturbed()) eyes_.failed(*running(), true);
  feed(FromHost{GuardLost{}, true});
}

void NodeHost::fail_workers(bool all) {
  if (left_.empty()) return;
  for (const int rank : all ? left_ : std::set<int>{*left_.begin()}) worker_ends(group_, LocalRank(rank), exited(1));
}

void NodeHost::end_workers() {
  for (const int rank : std::set<int>(left_)) worker_ends(group_, LocalRank(rank), exited(0));
}

void NodeHost::freeze(Duration duration) {
  if (network_.events().now() < network_.thaws_at(host())) return;  // it is paused already
  const Time until = later(network_.events().now(), duration);
  AgentHost::freeze(duration);
  network_.events().at(until, [this, duration, life = life()] {
    if (life.expired() || !running()) return;
    const Duration bears = running()->longest_stall;
    const Duration silence = running()->longest_silence;
    const bool silent = silence > Duration::zero() && network_.events().now() > later(last_answered(), silence);
    if (bears == Duration::zero() || (duration <= bears && !silent)) return;
    if (undisturbed()) eyes_.failed(*running(), true);
    told_ = true;
    feed(FromHost{StoodStill{duration}, true});
    end_all_after(plan_.dies_after, killed(SIGKILL));
  });
}

// ---- its workers

void NodeHost::carry_out(const StartWorkers& action) {
  count_change(action.round);
  watch_answers();
  ++group_;
  killed_ = looks_ = hastened_ = warned_ = cut_short_ = false;
  well_ = true;
  for (int rank = 0; rank < config_.nproc_per_node; ++rank) left_.insert(rank);
  workers_start(action.round);
  if (plan_.ends_after == Duration::max()) return;
  when_awake(later(network_.events().now(), plan_.starts_after + plan_.ends_after), [this, group = group_] {
    for (const int rank : std::set<int>(left_))
      if (plan_.exit_code == 0 || rank == 0) worker_ends(group, LocalRank(rank), exited(plan_.exit_code));
  });
}

void NodeHost::worker_ends(std::uint64_t group, LocalRank local_rank, ExitStatus status) {
  if (group != group_ || left_.erase(local_rank.value) == 0) return;
  well_ = well_ && status.ok();
  const bool last = left_.empty();
  if (!status.ok() && undisturbed()) eyes_.failed(*running(), false);
  leaves_early_ = leaves_early_ || (!status.ok() && undisturbed() && !looks_ && warned_ && last_.may_leave);
  feed(FromHost{WorkerExited{local_rank, status, status.ok() ? Failure() : failure_of(local_rank, status)}});
  if (last) all_are_gone();
}

void NodeHost::all_are_gone() {
  if (!running() || !left_.empty()) return;
  workers_are_gone();
  if (warned_ && well_ && !told_ && last_.may_leave) check_early_leave();
  feed(FromHost{AllGone{}});
}

// Its workers have saved and ended: it must not wait for the others.
void NodeHost::check_early_leave() {
  when_awake(later(network_.events().now(), long_after), [this, group = group_] {
    if (group == group_ && !running()) eyes_.fault(host() + " stays though its workers have ended after a warning");
  });
}

// A round whose workers were stopped, and that does not count as a restart, ends because nodes joined or left.
void NodeHost::count_change(const Round& next) {
  if (group_ == 0) return;
  const bool too_early = !told_ || (!hastened_ && told_at_ < later(warned_at_, config_.shutdown_timeout));
  if (warned_ && last_.may_leave && too_early) eyes_.fault(host() + " starts workers again though it was warned");
  if (!told_ || next.restarts != last_.restarts) return;
  if (cut_short_) eyes_.fault(host() + " takes time from its warned workers for a change of members");
  if (well_) return;
  const auto& most = config_.restarts.max_membership_restarts;
  if (most && ++changes_ > *most) eyes_.fault(host() + " goes on after one change of members too many");
}

void NodeHost::end_all_after(Duration delay, ExitStatus status) {
  if (delay == Duration::max()) return;
  when_awake(later(network_.events().now(), delay), [this, group = group_, status] {
    for (const int rank : std::set<int>(left_)) worker_ends(group, LocalRank(rank), status);
  });
}

void NodeHost::carry_out(const SignalWorkers& action) {
  if (!running()) return feed(FromHost{AllGone{}});
  if (!std::exchange(told_, true)) {
    told_at_ = network_.events().now();
    cut_short_ = warned_ && well_ && !hastened_ && told_at_ < later(warned_at_, config_.shutdown_timeout);
  }
  when_awake(later(network_.events().now(), config_.shutdown_timeout + late), [this, group = group_] {
    if (group == group_ && running() && !killed_) eyes_.fault(host() + " does not kill workers that do not obey");
  });
  end_all_after(plan_.obeys_after, killed(action.signal));
}

void NodeHost::carry_out(const KillWorkers& /*action*/) {
  if (!running()) return feed(FromHost{AllGone{}});
  check_kill();
  told_ = killed_ = true;
  end_all_after(plan_.dies_after, killed(SIGKILL));
}

void NodeHost::check_kill() const {
  if (told_ && !killed_ && !hastened_ && network_.events().now() < later(told_at_, config_.shutdown_timeout))
    eyes_.fault(host() + " kills workers that may still take their time");
}

void NodeHost::carry_out(const LimitGrace& action) {
  if (action.grace == Duration::max()) return;
  hastened_ = true;
  const Time sure = later(network_.events().now(), action.grace + to_be_sure);
  when_awake(sure, [this, sure, group = group_] {
    const bool slept = network_.events().now() > sure;  // then its guard ends them
    if (group == group_ && running() && told_ && !killed_ && !looks_ && !slept)
      eyes_.fault(host() + " does not kill workers whose time is over");
  });
  when_awake(later(network_.events().now(), action.grace), [this, group = group_] {
    if (group != group_) return;
    if (undisturbed() && !looks_) eyes_.fault(host() + " has its workers killed before it has told them to exit");
    end_all_after(plan_.dies_after, killed(SIGKILL));
  });
}

Failure NodeHost::failure_of(LocalRank local_rank, ExitStatus status) const {
  const Assignment& ranks = last_.assignment;
  return failure_of_worker({ranks.group_rank, config_.hostname},
                           {ranks.base_global_rank + local_rank, local_rank, 1000 + local_rank.value, ""}, status);
}

// ---- what takes its time

void NodeHost::carry_out(const AnnounceRound& action) {
  if (action.restart > 0 && action.restart <= announced_)
    eyes_.fault(fmt::format("{} announces restart {} after restart {}", host(), action.restart, announced_));
  announced_ = std::max(announced_, action.restart);
  when_awake(later(network_.events().now(), shortly), [this] { feed(CarriedOut{}); });
}

void NodeHost::carry_out(const GatherEvidence& action) {
  looks_ = true;
  const Duration taken = action.stacks ? std::max(plan_.looked_at_for, stacks_take) : plan_.looked_at_for;
  when_awake(later(network_.events().now(), taken), [this] { feed(CarriedOut{}); });
}

void NodeHost::carry_out(const Conclude& action) {
  const NodeRank node = std::max(last_.assignment.group_rank, NodeRank(0));
  when_awake(later(network_.events().now(), shortly),
             [this, node, end = action.end] { feed(Concluded{sum_up(node, end.others, end.failed_at)}); });
}

void NodeHost::ask(std::string text) { feed(AskJob{++asks_, std::move(text), most_patience}); }

void NodeHost::carry_out(const Exit& action) {
  if (answered_.size() != asks_)
    eyes_.fault(fmt::format("{} has asked {} times, and has {} results", host(), asks_, answered_.size()));
  exit(action.code);
}

void NodeHost::carry_out(const Report& action) {
  report_ = action;
  if (leaves_early_ && action.end.first && action.end.first->kind == Failure::Kind::worker)
    eyes_.fault(host() + " takes the end of warned workers for a failure");
  const bool by_warning = action.end.first && describe(*action.end.first).find("early warning") != std::string::npos;
  if (cut_short_ && by_warning && !signalled_)
    eyes_.fault(host() + " takes time from its warned workers for a change of members");
  when_awake(later(network_.events().now(), shortly), [this] { feed(Reported{}); });
}

}  // namespace launch::play
