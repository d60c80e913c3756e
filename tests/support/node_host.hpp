// A whole node on a Network: the real Node, which is the agent and its session, and workers that are values. The
// workers start, fail, end well, and obey a signal or not. Their guard ends them when their agent ends.
#pragma once

#include "agent_host.hpp"

#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace launch::play {

class NodeHost final : public AgentHost {
 public:
  NodeHost(Network& network, Config config, Planner planner, Eyes eyes);

  void start() override;
  void fail_workers(bool all) override;
  void end_workers() override;
  void signal(int number) override;
  void warn(int number);
  // A user asks it to leave the job.
  void drain();
  // The process that the user sees is killed; the agent lives on, and ends the job.
  void lose_guard();
  // The machine is paused, with its guard. When it wakes, the guard ends workers that the others may have given up
  // meanwhile.
  void freeze(Duration duration) override;

  const Config& config() const { return config_; }
  const std::optional<Report>& report() const { return report_; }
  // Asks the other nodes, which answer with their host's name and the text.
  void ask(std::string text);
  // What they have answered, one result for each time that this node has asked.
  const std::vector<JobAnswered>& answered() const { return answered_; }
  // How many actions have been carried out. Tests choose the moment of a crash by this number.
  std::uint64_t steps() const { return steps_; }
  // Calls it when this number is reached, before that action is carried out.
  void at_step(std::uint64_t steps, std::function<void()> what);
  // Ends as by kill() when this number is reached, without carrying out that action.
  void kill_after(std::uint64_t steps);

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
  void carry_out(const RunAfterHook& /*action*/) { feed(FromHost{HookEnded{}}); }
  void carry_out(const EnterBarrier& /*action*/) { feed(CarriedOut{}); }
  void carry_out(const Heard& /*action*/) {}
  void carry_out(const Asked& action) { feed(AnswerAsk{action.number, host() + " heard " + action.text}); }
  void carry_out(const JobAnswered& action) { answered_.push_back(action); }
  void carry_out(const Conclude& action);
  void carry_out(const Report& action);
  void carry_out(const Exit& action);

  void feed(NodeEvent event);
  void tell_to_end(NodeEvent how);
  void worker_ends(std::uint64_t group, LocalRank local_rank, ExitStatus status);
  void end_all_after(Duration delay, ExitStatus status);
  void all_are_gone();
  Failure failure_of(LocalRank local_rank, ExitStatus status) const;
  void count_change(const Round& next);
  void check_kill() const;
  void check_early_leave();

  Config config_;
  Node node_;
  std::deque<NodeEvent> fed_;
  bool feeding_ = false;
  std::optional<Status> opened_;
  std::set<int> left_;       // workers, by local rank
  std::uint64_t group_ = 0;  // how often workers have been started
  bool killed_ = false;      // they have been sent SIGKILL
  bool looks_ = false;       // their agent looks at them, or has done so, before it ends them
  Time told_at_ = never;     // when they were told to exit
  bool hastened_ = false;    // they may be killed before the time-out of a shutdown
  bool warned_ = false;
  Time warned_at_ = never;
  bool cut_short_ = false;     // warned workers were told to exit before they had the time of a shutdown
  bool leaves_early_ = false;  // workers have ended badly after a warning
  bool signalled_ = false;     // this node was told to stop
  int announced_ = 0;          // the last restart that the user was told of
  bool well_ = true;           // all that have ended have ended well
  int changes_ = 0;            // rounds that ended here because nodes joined or left
  std::optional<Report> report_;
  std::uint64_t asks_ = 0;
  std::vector<JobAnswered> answered_;
  std::uint64_t steps_ = 0;
  std::uint64_t chosen_step_ = 0;
  std::function<void()> at_step_;
};

}  // namespace launch::play
