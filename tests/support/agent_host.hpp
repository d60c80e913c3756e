// What launch's and torchrun's agents have in common on a Network: a process on a host of its own, workers that are
// values, and what can happen to all of them. Code that watches a whole job hears through `Eyes` what happens.
#pragma once

#include "process.hpp"

#include "launch/core/job/job.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace launch::play {

// What the workers of one round do on one node. `ends_after` counts from their start; max: they do not end by
// themselves.
struct Plan {
  Duration ends_after = Duration::max();
  int exit_code = 0;                                      // of one of them; the others follow
  Duration obeys_after = std::chrono::milliseconds(100);  // after a signal that is not SIGKILL; max: never
  Duration dies_after = std::chrono::milliseconds(5);     // after SIGKILL; max: never, as if asleep in the kernel
  Duration starts_after = std::chrono::milliseconds(20);
  Duration looked_at_for = std::chrono::milliseconds(2);  // by their agent, when it gathers evidence
};

using Planner = std::function<Plan(const Round& round)>;

// Tells code that looks at all nodes which of them have workers.
struct Eyes {
  std::function<void(const Round& round)> started = [](const Round&) {};
  std::function<void(const Round& round)> gone = [](const Round&) {};
  // Workers ended badly, or were lost with their agent, without having been told to exit.
  std::function<void(const Round& round, bool lost)> failed = [](const Round&, bool) {};
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

  virtual ~AgentHost() = default;

  virtual void start() = 0;
  // One worker exits with 1. If `all`, all of them do, as PyTorch's do when a worker on another node is gone.
  virtual void fail_workers(bool all) = 0;
  // All workers exit with 0.
  virtual void end_workers() = 0;
  // A person or a scheduler sends it, perhaps more than once.
  virtual void signal(int number) = 0;
  virtual void freeze(Duration duration);
  // The agent is killed, and its workers with it.
  void kill();
  // Its machine loses power.
  void lose_power();

  const std::optional<int>& exit_code() const { return exit_code_; }
  const std::optional<Round>& running() const { return running_; }
  bool formed() const { return formed_; }
  // The round whose workers run, or ran last.
  const Round& last() const { return last_; }
  // Its workers run, and have not been told to exit.
  bool undisturbed() const { return running_ && !told_; }
  // Not even SIGKILL ends its workers.
  bool immortal() const { return plan_.dies_after == Duration::max(); }

 protected:
  void workers_start(const Round& round);
  void workers_are_gone();
  void exit(int code);

  Network& network_;
  Planner planner_;
  Eyes eyes_;
  Plan plan_;
  Round last_;         // the round whose workers run, or ran last
  bool told_ = false;  // its workers have been told to exit

 private:
  std::optional<Round> running_;
  std::optional<int> exit_code_;
  bool formed_ = false;
};

}  // namespace launch::play
