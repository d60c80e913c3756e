// The agent's part in a c10d rendezvous whose store a launch agent hosts: it says what it wants and waits to be told.
// Who is in, who is dead and when a round forms is decided there (Membership). Times are of this host's clock alone. A
// machine: the session carries its operations out, one at a time.
#pragma once

#include "launch/core/c10d/attendance.hpp"

#include <optional>
#include <string>
#include <vector>

namespace launch {

class HostedRendezvous : public ElasticMachine {
 public:
  explicit HostedRendezvous(ElasticSettings settings);

  ElasticStep start(Instant now) override;
  Result<ElasticStep> on(const Outcome& outcome, Instant now) override;
  Time deadline() const override { return deadline_; }

  void join(Time now, int restarts) override;
  void close(Time now) override;
  void leave(Time now, std::string reason) override;
  void admit_nobody() override { admits_ = false; }
  // What the store is to do when this agent goes away without a word; WillLeft follows. An empty one takes it back.
  void pledge(LeaveWill will) { will_ = std::move(will); }
  // This agent's workers have ended well, so that the others need it no more in this round; from now on its will is
  // `then`.
  void finish(LeaveWill then);

 private:
  enum class Goal {
    none,    // outside, or in a round that has broken up
    join,    // wants into a round
    member,  // is in one
    give_up,
    leave,
    close,
  };

  ElasticStep next(Time now);
  ElasticStep attend(Attendance::Wish wish, Time deadline);
  void take(const ElasticNews& news, Time now);
  void report(RoundWaits waits, Time now);
  void end();

  ElasticSettings settings_;
  Goal goal_ = Goal::none;
  Time deadline_ = never;
  Time give_up_ = never;  // joining, leaving or closing
  Time report_ = never;
  RoundWaits last_;          // as it was reported
  std::int64_t round_ = -1;  // the one it is, or was last, a member of
  bool admits_ = true;
  bool done_ = false;
  int restarts_ = 0;
  std::string reason_;  // to leave
  std::optional<LeaveWill> will_;
  std::vector<ElasticNews> news_;
};

}  // namespace launch
