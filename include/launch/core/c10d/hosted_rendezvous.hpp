// The agent's part in a c10d rendezvous whose store a launch agent hosts: it says what it wants and waits for the
// answer. The host decides who is in, who is dead and when a round forms (Membership). Times are of this host's clock
// only. A machine: the session carries its operations out, one at a time.
#pragma once

#include "launch/core/c10d/attendance.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class HostedRendezvous : public ElasticMachine {
 public:
  // What the others must know of this agent's part in the store.
  struct Seat {
    StoreDoor door{};  // as in Attendance
    bool hosts = false;
    std::optional<Comeback> comeback{};
    bool anew = false;  // as in Attendance
    Duration lease{};
  };
  explicit HostedRendezvous(ElasticSettings settings) : HostedRendezvous(std::move(settings), Seat()) {}
  HostedRendezvous(ElasticSettings settings, Seat seat);

  ElasticStep start(Instant now) override;
  Result<ElasticStep> on(const Outcome& outcome, Instant now) override;
  Time deadline() const override { return deadline_; }

  void join(Time now, int restarts) override;
  void close(Time now) override;
  void leave(Time now, std::string reason) override;
  void admit_nobody() override { admits_ = false; }
  // What the store must do if this agent disappears without a report; WillLeft follows. An empty will takes it back.
  void pledge(LeaveWill will) { will_ = std::move(will); }
  // This agent's workers have ended well, so the others do not need it any more in this round; from now on its will is
  // `then`.
  void finish(LeaveWill then);

 private:
  enum class Goal {
    none,    // outside, or in a round that has broken up
    join,    // wants to be in a round
    member,  // is in one
    give_up,
    leave,
    close,
  };

  ElasticStep next(Time now);
  ElasticStep attend(Attendance::Wish wish, Time deadline);
  void take(const ElasticNews& news, Time now);
  void learn(const LastRound& succession);
  void report(RoundWaits waits, Time now);
  void end();

  ElasticSettings settings_;
  Seat seat_;
  bool returns_ = false;  // the next host must hear of this agent, but the last workers may still run
  Goal goal_ = Goal::none;
  Time deadline_ = never;
  Time give_up_ = never;  // joining, leaving or closing
  Time report_ = never;
  RoundWaits last_;          // as it was last reported
  std::int64_t round_ = -1;  // the last one that it is or was a member of
  bool admits_ = true;
  bool done_ = false;
  int restarts_ = 0;
  std::string reason_;  // why it leaves
  std::optional<LeaveWill> will_;
  std::vector<ElasticNews> news_;
};

}  // namespace launch
