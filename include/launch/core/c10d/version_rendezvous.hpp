// The agent's part in torchrun's older rendezvous at an etcd (--rdzv-backend=etcd), by the rules of torchrun 2.13's
// etcd_rendezvous.py: rounds are versions, which form one after the other. It joins them, renews its lease, notices
// nodes that want in or are lost, leaves and closes. It polls. Errors are sentences about what the etcd holds.
//
// A member is dead when its lease has run out, by the etcd's clock. torchrun's members look for nodes that wait, and at
// no lease: only nodes that wait do that. Launch's members also look at the leases of their neighbours. It never gives
// up a version with torchrun's agents in it before these can have seen that nodes wait.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/c10d/version_state.hpp"

#include <optional>
#include <string>
#include <vector>

namespace launch {

class VersionRendezvous : public ElasticMachine {
 public:
  // `root`: see versions_root() in core/store/keys.
  VersionRendezvous(ElasticSettings settings, std::string root, Random random);

  ElasticStep start(Instant now) override;
  Result<ElasticStep> on(const Outcome& outcome, Instant now) override;
  Time deadline() const override { return deadline_; }

  void join(Time now, int restarts) override;
  void close(Time now) override;
  void leave(Time now, std::string reason) override;
  void admit_nobody() override { admits_ = false; }

 private:
  using Step = VersionState::Status;
  enum class Phase {
    founding,   // makes the job's folder, or lets it last longer
    counting,   // makes the counter of versions
    reading,    // the state
    writing,    // the state
    leasing,    // renews this node's lease
    checking,   // leases of others
    numbering,  // reads the counter
    raising,    // raises the counter
    departing,  // removes this node's lease
    pausing,    // waits, also after lost writes
  };
  enum class Goal {
    none,    // outside
    join,    // wants to be in a version
    member,  // is in one
    leave,
    close,
  };

  Result<ElasticStep> take(const std::string& text, Time now);
  ElasticStep act(Time now);
  std::optional<Operation> pursue(Time now);
  std::optional<Operation> try_join(Time now);
  std::optional<Operation> enter(Time now);
  std::optional<Operation> call_last(Time now);
  std::optional<Operation> confirm(Time now);
  std::optional<Operation> await_end(Time now);
  std::optional<Operation> announce(Time now);
  std::optional<Operation> stay(Time now);
  std::optional<Operation> depart(Time now);
  std::optional<Operation> shut(Time now);
  std::optional<RoundBroken> find_break() const;

  // The next operation.
  Operation ask(Phase phase, Operation operation, Time now);
  Operation found(Time now);
  Operation read(Time now);
  Operation write(const VersionState& next, Duration lasts, Time now);
  Operation renew(Time now);
  Result<ElasticStep> number(const Outcome& outcome, Time now);
  Operation make_joinable(Time now);
  // nullopt: it has looked at these leases not long ago.
  std::optional<Operation> check(const std::vector<int>& ranks, Time now);
  Operation pause(Time now);

  bool has_joined() const { return attempted_ == state_.version && own_rank().has_value(); }
  std::optional<int> own_rank() const { return rank_of(state_, settings_.self); }
  bool formed();
  void refuse(ErrorCode code, std::string message);
  bool refuses_when_late(Time now);
  void report(Time now);
  void wake_by(Time time) { wake_ = std::min(wake_, time); }
  std::string key() const;

  ElasticSettings settings_;
  std::string root_;
  Phase phase_ = Phase::founding;
  Goal goal_ = Goal::none;
  VersionState state_;
  std::string text_;     // as stored
  std::string written_;  // by the write under way
  LostWrites lost_writes_;
  Time deadline_ = never;
  Time wake_ = never;
  Time give_up_ = never;  // joining, leaving or closing
  Time report_ = never;
  Time renew_folder_ = never;
  std::int64_t counter_ = 0;    // of versions, as this node has raised it
  std::int64_t attempted_ = 0;  // the version that this node has tried to join
  std::int64_t announced_ = 0;  // the one at whose end this node has counted itself
  Time announced_at_{};
  std::int64_t called_ = 0;  // the one whose last call is this node's task
  Time last_call_ = never;
  Time renew_call_ = never;
  std::string lease_;  // of this node; empty: it has none, or lets it run out
  Time renew_lease_ = never;
  std::vector<int> checked_;  // ranks
  Time check_again_{};
  std::optional<int> lost_;  // the first of them whose lease has run out
  int came_ = 0;             // nodes that had joined, at the time-out
  bool spare_ = false;
  std::optional<std::int64_t> round_;  // the last one that it is or was a member of
  VersionState members_;               // in that
  int rank_ = 0;                       // in that
  bool told_broken_ = false;
  bool admits_ = true;
  std::vector<ElasticNews> news_;
};

}  // namespace launch
