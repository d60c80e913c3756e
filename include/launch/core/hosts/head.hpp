// The head of `launch --hosts`: starts a launch on every host, asks each whether it can start, finds the address of
// node 0 that all reach, starts the nodes, and makes one output, one report and one exit code of theirs. A machine:
// app/head_run makes the connections and carries out the actions, in their order.
//
//   phase    | the head waits for                  | then
//   gather   | "ready" or "cannot" of all hosts    | all problems are listed and nothing has been started; or reach
//   reach    | which of node 0's addresses all reach | "go" to all; or who does not reach it is said
//   run      | the end of all nodes                | the report of one of them, and the job's exit code
//
// No worker runs before all hosts have answered. Whatever ends the head ends the nodes, since their remotes end with
// the connection; so an action that finishes it is the last one. A host that is lost while nodes run ends nothing here:
// the other nodes know of it by themselves, and their end is waited for. Only a node that ends or is lost before it has
// joined a static job is known here alone: if the others go on after that, they are told to stop. A host that keeps the
// output of its workers (HeadPlan::keeps_output) removes it when it is told that all was shown (ConfirmHost); if the
// head has gone before, the files stay there.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/gathering.hpp"
#include "launch/core/hosts/head_verdict.hpp"
#include "launch/core/hosts/host_reach.hpp"
#include "launch/core/hosts/host_table.hpp"
#include "launch/core/hosts/input_window.hpp"
#include "launch/core/hosts/launch_lines.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

class Head {
 public:
  Head(HeadPlan plan, std::uint64_t seed);

  HeadActions start(Time now);
  HeadActions on_greeting(int node, const Greeting& greeting, Time now);
  // What has come from a login instead of a greeting, in one line.
  void on_noise(int node, std::string noise);
  HeadActions on_message(int node, HostMessage message, Time now);
  // What came is no frame.
  HeadActions on_nonsense(int node, const std::string& what, Time now);
  // The connection has ended, in whatever way.
  HeadActions on_lost(const LostConnection& lost, int node, Time now);
  // The console takes nothing for now, so that the hosts are not heard: silence says nothing until it does again.
  void on_console(bool full, Time now);
  HeadActions on_signal(int signal, Time now);
  // One that ends nothing: the nodes get it.
  HeadActions on_passed_signal(int signal) {
    pass(signal);
    return table_.take();
  }
  // Something has come from it, though not a whole message.
  void on_life(int node, Time now) { table_.at(node).heard = now; }
  // It takes what is sent to it, a part of this program for example.
  void on_taken(int node, Time now) { gathering_.on_taken(node, now); }
  // More of its standard input may be read for the workers that get it.
  bool wants_input() const;
  // That was read; empty: it is at its end.
  HeadActions on_input(const std::string& bytes);
  HeadActions on_deadline(Time now);
  Time deadline() const;

  // It waits for hosts, and no node runs yet.
  bool waits() const { return phase_ == Phase::gather || phase_ == Phase::reach; }
  // For whom, for a line of progress; empty if it does not.
  std::string progress() const;

 private:
  enum class Phase {
    gather,
    reach,
    run,
    over
  };
  using State = HostTable::State;
  // The first node of a static job that has ended before it had joined, or was lost, so that all must end.
  struct Early {
    Failure::Kind kind{};
    HostProblem problem;
    Time due = never;  // then the others are told to stop
    bool stops_others = false;
  };

  void on(int node, const NodeReady& ready, Time now);
  void on(int node, const NodeCannot& cannot, Time now);
  void on(int node, const ReachAnswer& answer, Time now);
  void on(int node, const NodeOutput& output, Time now);
  void on(int node, const NodeFile& file, Time now);
  void on(int node, const NodeEnd& end, Time now);
  void on(int node, const NodeTook& took, Time now);
  template <class Other>
  void on(int node, const Other&, Time now);
  void expire(int node, Time now, bool slept);
  void settle(Time now);
  void give_up();
  void warn_of_hosts();
  void go(const std::string& address, Time now);
  void begin_streams();
  void look_for_address(Time now);
  void ask_who_reaches(Time now);
  void settle_reach(Time now);
  void settle_run(Time now);
  void expect_end_of_others(Failure::Kind kind, HostProblem problem, Time due);
  void stop_others(Time now);
  HeadFailure end_of_early() const;
  void pass(int signal);
  HeadFailure unreported(int code) const;
  void finish(const HeadFailure& failure);
  void stop(int signal);

  HostTable table_;
  Gathering gathering_;
  InputWindow input_;
  Phase phase_ = Phase::gather;
  AddressSearch search_;
  Early early_;
  int signals_ = 0;
  bool deaf_ = false;  // the console is full
  LaunchLines said_;
};

}  // namespace launch
