// A whole node on a Network: the real Node, which is the agent and its session, and workers that are values. They
// start, fail, end well, obey a signal or do not; their guard ends them with their agent.
#pragma once

#include "process.hpp"

#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace launch::play {

// What the workers of one round do on one node. Times from their start; `never`: not by themselves.
struct Plan {
  Duration ends_after = Duration::max();
  int exit_code = 0;                                      // of one of them: the others follow
  Duration obeys_after = std::chrono::milliseconds(100);  // a signal that is not SIGKILL; max: never
  Duration dies_after = std::chrono::milliseconds(5);     // SIGKILL
  Duration starts_after = std::chrono::milliseconds(20);
};

class NodeHost : public Process {
 public:
  // Who has workers, asked and told by those who look at all nodes.
  struct Eyes {
    std::function<void(const Round& round)> started = [](const Round&) {};
    std::function<void(const Round& round)> gone = [](const Round&) {};
    std::function<void(const Report& report)> reported = [](const Report&) {};
    std::function<void(int code)> exited = [](int) {};
    std::function<void(const std::string& fault)> fault = [](const std::string&) {};
  };
  using Planner = std::function<Plan(const Round& round)>;

  NodeHost(Network& network, Config config, Planner planner, Eyes eyes);

  void start();
  // By a person or a scheduler; more often than once, too.
  void signal(int number);
  void warn(int number);
  // Its agent is killed: workers end by their guard.
  void kill();
  // Its machine loses its power.
  void lose_power();
  // It stands still: its guard, which does so too, ends workers that the others may have given up meanwhile.
  void freeze(Duration duration);

  const Config& config() const { return config_; }
  const std::optional<int>& exit_code() const { return exit_code_; }
  const std::optional<Report>& report() const { return report_; }
  const std::optional<Round>& running() const { return running_; }
  bool formed() const { return formed_; }
  // Actions that have been carried out, which is how the moment of a crash is chosen.
  std::uint64_t steps() const { return steps_; }
  // Ends as by kill() when so many have been.
  void kill_after(std::uint64_t steps) { kill_after_ = steps; }

 private:
  using Process::carry_out;
  void carry_out(const SessionOpened& action) { opened_ = action.status; }
  void carry_out(const LimitGrace& action);
  void carry_out(const StartRendezvous& /*action*/) {}
  void carry_out(const AnnounceRound& action);
  void carry_out(const StartWorkers& action);
  void carry_out(const GatherEvidence& action);
  void carry_out(const SignalWorkers& action);
  void carry_out(const KillWorkers& action);
  void carry_out(const EnterBarrier& /*action*/) { feed(CarriedOut{}); }
  void carry_out(const Heard& /*action*/) {}
  void carry_out(const Conclude& action);
  void carry_out(const Report& action);
  void carry_out(const Exit& action);

  void feed(NodeEvent event);
  void worker_ends(std::uint64_t group, int local_rank, ExitStatus status);
  void end_all_after(Duration delay, ExitStatus status);
  void all_are_gone();
  Failure failure_of(int local_rank, ExitStatus status) const;

  Network& network_;
  Config config_;
  Planner planner_;
  Eyes eyes_;
  Node node_;
  std::deque<NodeEvent> fed_;
  bool feeding_ = false;
  std::optional<Status> opened_;
  std::optional<Round> running_;  // workers
  Round last_;                    // the same, or the last that did
  std::set<int> left_;            // of them, by local rank
  std::uint64_t group_ = 0;       // number of their start
  Plan plan_;
  std::optional<Report> report_;
  std::optional<int> exit_code_;
  bool formed_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t kill_after_ = 0;
};

}  // namespace launch::play
