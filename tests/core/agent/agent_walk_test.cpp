// Whatever comes, and in whatever order: an agent among workers, other nodes and a store that do as chance wills, and
// what must hold after each step.
#include "launch/core/agent/agent.hpp"
#include "launch/core/base/random.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace launch::agent_walk_test {

using namespace std::chrono_literals;

constexpr int walks = 20'000;
constexpr int most_steps = 120;
constexpr int steps_to_end = 200;  // once everything fails, of which most are other nodes' news

class Walk {
 public:
  explicit Walk(std::uint64_t seed)
      : random_(seed), settings_(draw_settings()), agent_(settings_), peace_(1 + draw(30)), stuck_(one_in(8)) {
    take(agent_.start(now_));
    const int steps = draw(most_steps);
    for (int i = 0; i < steps && !over_; ++i) step();
    tell(SignalReceived{SIGTERM});
    final_ = true;
    for (int i = 0; i < steps_to_end && !over_; ++i) wind_down();
    EXPECT_TRUE(over_) << "it waits for ever";
  }

 private:
  int draw(int below) { return static_cast<int>(random_.next() % static_cast<unsigned>(below)); }
  bool one_in(int count) { return draw(count) == 0; }

  AgentSettings draw_settings() {
    AgentSettings settings{.nnodes = one_in(4) ? 1 : 2,
                           .node_rank = NodeRank(one_in(4) ? -1 : 0),
                           .nproc = 1 + draw(3),
                           .host = "h",
                           .shutdown_timeout = one_in(8) ? 0s : 30s,
                           .kill_grace = 5s};
    settings.after_hook = one_in(3);
    settings.hook_timeout = one_in(2) ? 0s : 10s;
    settings.restarts.max_restarts = one_in(2) ? draw(3) : 9;
    if (one_in(4)) settings.restarts.max_membership_restarts = draw(3);
    settings.evidence = one_in(2);
    settings.stacks = one_in(4);
    settings.leaves = settings.nnodes > 1 && one_in(2);
    return settings;
  }

  Failure draw_failure() {
    Failure failure;
    failure.kind = static_cast<Failure::Kind>(draw(8));
    failure.exit_code = 1 + draw(200);
    failure.restart = !final_ && one_in(2);
    failure.restarts = failure.restart ? most_restarts_ + draw(2) : 0;
    failure.node_rank = NodeRank(draw(2));
    failure.rank = GlobalRank(draw(4));
    return failure;
  }

  // ---- what happens to it

  void tell(const AgentEvent& event) { take(agent_.on(event, now_)); }

  void step() {
    now_ += Duration(draw(1000) * 1ms);
    if (!one_in(peace_)) return live();
    switch (draw(9)) {
      case 0:
        return tell(SignalReceived{one_in(2) ? SIGINT : SIGTERM});
      case 1:
        return tell(Warned{SIGUSR1, one_in(2)});
      case 2:
        return tell(BarrierDone{});
      case 3:
        if (one_in(3)) return tell(Hung{failure_of_hang("no progress"), one_in(2)});
        if (!one_in(9)) return tell(StoodStill{9s});
        guard_lost_ = true;
        return tell(GuardLost{});
      case 4:
        return expire();
      case 5:
        return one_in(2) ? tell(RestartAsked{"a user"}) : tell(LeaveAsked{"a user"});
      default:
        return news();
    }
  }

  // Of the other nodes and the store.
  void news() {
    switch (draw(5)) {
      case 0: {
        Failure failure = draw_failure();
        if (all_well_) failure.node_rank = NodeRank(1);  // nobody says of our workers what is not so
        return tell(PeerFailed{std::move(failure)});
      }
      case 1:
        return tell(MembersChanged{"n1 joins", one_in(2) ? Duration::max() : Duration(2s)});
      case 2:
        return tell(StoreLost{"reset", one_in(2) ? Duration::max() : Duration(2s), one_in(2) ? 9s : 0s, one_in(2)});
      case 3:
        if (joins_) tell(RendezvousFailed{Error{ErrorCode::timeout, "late"}});
        return;
      default:
        // Of a round that was given up while it formed.
        if (joins_)
          tell(NotNeeded{});
        else
          tell(RendezvousDone{});
    }
  }

  // What is under way goes on.
  void live() {
    if (joins_) {
      joins_ = false;
      return tell(
          RendezvousDone{Round{Assignment{.group_world_size = settings_.nnodes, .world_size = 4, .role_world_size = 4},
                               std::nullopt, one_in(2) ? 0 : most_restarts_, !one_in(8)}});
    }
    if (hook_runs_) return end_hook();
    if (workers_ > 0) return end_worker();
    if (left_ && told_ && !stuck_ && !one_in(3)) left_ = false;
    if (!left_) return tell(AllGone{});
    if (told_ || one_in(4)) expire();
  }

  void end_worker() {
    if (workers_ == settings_.nproc && one_in(20)) return fail_to_start();
    const LocalRank local_rank(--workers_);
    const bool well = !told_ && !final_ && one_in(well_in_);
    const ExitStatus status = well    ? ExitStatus{ExitStatus::Kind::exited, 0}
                              : told_ ? ExitStatus{ExitStatus::Kind::signalled, SIGTERM}
                                      : ExitStatus{ExitStatus::Kind::exited, 7};
    all_well_ = all_well_ && well;
    Failure failure = draw_failure();
    failure.kind = Failure::Kind::worker;
    failure.node_rank = NodeRank(0);
    tell(WorkerExited{local_rank, status, well ? Failure{} : failure});
  }

  void end_hook() {
    if (one_in(4)) return tell(AllGone{});  // of the workers, and late
    if (stuck_ && agent_.deadline() != never) return expire();
    hook_runs_ = false;
    left_ = one_in(3);
    told_ = false;
    tell(HookEnded{left_});
  }

  // One of them, so that the others are all there are.
  void fail_to_start() {
    --workers_;
    all_well_ = false;
    Failure failure = draw_failure();
    failure.kind = Failure::Kind::start;
    failure.node_rank = NodeRank(0);
    tell(StartFailed{failure});
  }

  void expire() {
    if (agent_.deadline() == never) return;
    now_ = std::max(now_, agent_.deadline());
    take(agent_.on(DeadlineReached{}, now_));
  }

  // The job has been told to stop, and the world goes on as ever.
  void wind_down() {
    if (one_in(4)) return expire();
    if (one_in(8)) return news();
    live();
  }

  // ---- what it does

  void take(const AgentActions& actions) {
    for (const AgentAction& action : actions) {
      EXPECT_FALSE(over_) << "something comes after its end";
      std::visit([this](const auto& one) { carry_out(one); }, action);
    }
    const bool waits = joins_ || in_barrier_ || hook_runs_ || workers_ > 0;
    EXPECT_TRUE(over_ || waits || agent_.deadline() != never) << "nothing is under way, and it waits for ever";
  }

  void carry_out(const StartRendezvous& start) {
    EXPECT_FALSE(joins_);
    EXPECT_FALSE(final_ || told_end_) << "the job was to end";
    EXPECT_TRUE(workers_ == 0 && !left_) << "processes of the last round are there";
    EXPECT_GE(start.restarts, most_restarts_) << "a restart is forgotten";
    EXPECT_GE(start.restarts, announced_);
    most_restarts_ = start.restarts;
    joins_ = true;
    in_barrier_ = false;
  }
  void carry_out(const StopRendezvous&) { joins_ = false; }
  void carry_out(const StartWorkers& start) {
    EXPECT_TRUE(workers_ == 0 && !left_) << "two rounds at once";
    EXPECT_GE(start.round.restarts, most_restarts_);
    most_restarts_ = start.round.restarts;
    workers_ = settings_.nproc;
    left_ = all_well_ = true;
    told_ = hook_ran_ = guard_lost_ = false;
  }
  void carry_out(const SignalWorkers&) {
    told_ = true;
    take(agent_.on(Signalled{}, now_));
    EXPECT_NE(agent_.deadline(), never) << "nobody would kill those that do not hear";
  }
  void carry_out(const KillWorkers&) {
    told_ = true;
    EXPECT_NE(agent_.deadline(), never);
  }
  void carry_out(const RunAfterHook& hook) {
    EXPECT_TRUE(settings_.after_hook && !hook_ran_ && !guard_lost_);
    EXPECT_TRUE(workers_ == 0 && !left_) << "processes of the workers are there";
    EXPECT_EQ(hook.exit_code == 0, all_well_);
    hook_ran_ = hook_runs_ = left_ = true;
  }
  void carry_out(const EnterBarrier&) {
    EXPECT_TRUE(!settings_.after_hook || hook_ran_ || left_) << "the command after the workers is left out";
    EXPECT_TRUE(all_well_ && workers_ == 0);
    EXPECT_GT(settings_.nnodes, 1);
    in_barrier_ = true;
  }
  void carry_out(const TellPeers& tell) {
    EXPECT_GT(settings_.nnodes, 1);
    told_end_ = told_end_ || !tell.failure.restart;
  }
  void carry_out(const AnnounceRound& round) {
    EXPECT_FALSE(round.reason.empty());
    announced_ = round.restart;
  }
  void carry_out(const GatherEvidence&) { EXPECT_GT(workers_ + static_cast<int>(left_), 0); }
  void carry_out(const Finish& finish) {
    over_ = true;
    EXPECT_TRUE(finish.left_behind || (workers_ == 0 && !left_)) << "processes are left, and it does not say so";
    EXPECT_EQ(finish.exit_code, finish.first ? finish.first->exit_code : 0);
    EXPECT_FALSE(finish.first && finish.first->restart) << "it ends with what was to be followed by a restart";
  }

  Random random_;
  AgentSettings settings_;
  Agent agent_;
  int peace_;  // one step in so many is none of what goes on by itself
  Time now_ = Time(1h);
  bool joins_ = false;
  int workers_ = 0;
  int well_in_ = 1 + draw(8);  // one worker in so many ends well
  bool stuck_;                 // some of which never end
  bool left_ = false;          // processes of the round, its workers or what they have made
  bool told_ = false;          // to end
  bool all_well_ = true;
  bool in_barrier_ = false;
  bool hook_runs_ = false;
  bool hook_ran_ = false;  // in this round
  bool guard_lost_ = false;
  int most_restarts_ = 0;
  int announced_ = 0;
  bool final_ = false;     // it has been told so
  bool told_end_ = false;  // it has told the others so
  bool over_ = false;
};

TEST(AgentWalk, WhateverComesItKeepsToItsRules) {
  for (std::uint64_t seed = 0; seed < walks; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Walk walk(seed);
    if (HasFailure()) return;
  }
}

}  // namespace launch::agent_walk_test
