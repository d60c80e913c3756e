// What launch's and torchrun's agents have in common on a Network: a process on a host of its own, workers that are
// values, and what befalls all of them. Who looks at a whole job hears by `Eyes` what happens.
#pragma once

#include "process.hpp"

#include "launch/core/job/job.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace launch::play {

// What the workers of one round do on one node. Times from their start; max: not by themselves.
struct Plan {
  Duration ends_after = Duration::max();
  int exit_code = 0;                                      // of one of them: the others follow
  Duration obeys_after = std::chrono::milliseconds(100);  // a signal that is not SIGKILL; max: never
  Duration dies_after = std::chrono::milliseconds(5);     // SIGKILL
  Duration starts_after = std::chrono::milliseconds(20);
};

using Planner = std::function<Plan(const Round& round)>;

// Who has workers, told to those who look at all nodes.
struct Eyes {
  std::function<void(const Round& round)> started = [](const Round&) {};
  std::function<void(const Round& round)> gone = [](const Round&) {};
  std::function<void(int code)> exited = [](int) {};
  std::function<void(const std::string& fault)> fault = [](const std::string&) {};
};

class AgentHost : public Process {
 public:
  AgentHost(Network& network, std::string host, std::function<void(Answer)> on_answer, Planner planner, Eyes eyes)
      : Process(network, std::move(host), std::move(on_answer)),
        network_(network),
        planner_(std::move(planner)),
        eyes_(std::move(eyes)) {}

  virtual void start() = 0;
  // One worker ends with 1; if `all`, all of them, as PyTorch's do when a worker elsewhere is gone.
  virtual void fail_workers(bool all) = 0;
  // All workers end with 0.
  virtual void end_workers() = 0;
  // By a person or a scheduler; more often than once, too.
  virtual void signal(int number) = 0;
  virtual void freeze(Duration duration);
  // The agent is killed, and its workers with it.
  void kill();
  // Its machine loses its power.
  void lose_power();

  const std::optional<int>& exit_code() const { return exit_code_; }
  const std::optional<Round>& running() const { return running_; }
  bool formed() const { return formed_; }

 protected:
  void workers_start(const Round& round);
  void workers_are_gone();
  void exit(int code);

  Network& network_;
  Planner planner_;
  Eyes eyes_;
  Plan plan_;
  Round last_;  // the round whose workers run, or the last whose did

 private:
  std::optional<Round> running_;
  std::optional<int> exit_code_;
  bool formed_ = false;
};

}  // namespace launch::play
