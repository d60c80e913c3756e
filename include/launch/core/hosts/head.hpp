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
// the other nodes know of it by themselves, and their end is waited for.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/head_host.hpp"
#include "launch/core/hosts/head_plan.hpp"
#include "launch/core/hosts/host_frames.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace launch {

struct ConnectHost {
  int node;
  bool copies = false;  // this program is sent there first
};
struct TellHost {
  int node;
  HostMessage message;
};
// Nothing more is said to it: its connection is closed.
struct LeaveHost {
  int node;
};
struct ShowLines {
  bool errors;  // on standard error
  std::string lines;
};
struct SayLine {
  bool wrong;
  std::string text;
};
struct FinishHead {
  int exit_code = 0;
  std::string report{};  // for people; may be empty
  std::string json{};    // the same for programs
};
using HeadAction = std::variant<ConnectHost, TellHost, LeaveHost, ShowLines, SayLine, FinishHead>;
using HeadActions = std::vector<HeadAction>;

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
  HeadActions on_passed_signal(int signal);
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
  using Host = HeadHost;
  using State = Host::State;

  Host& at(int node) { return hosts_[static_cast<std::size_t>(node)]; }
  const std::string& name(int node) const { return plan_.nodes[static_cast<std::size_t>(node)].host; }
  int count(State state) const;
  std::vector<std::string> names(std::initializer_list<State> states) const;
  HeadActions take();

  void connect_more(Time now);
  void wait_for(int node, State state, Time when);
  bool may_copy(int node) const;
  void copy(int node, Time now);
  bool is_repeated(int node, std::string_view line);
  void ask(int node, Time now);
  void drop(int node, const HostProblem& problem);
  void nonsense(int node, const std::string& what);
  void flush(int node);
  void on(int node, const NodeReady& ready, Time now);
  void on(int node, const NodeCannot& cannot, Time now);
  void on(int node, const ReachAnswer& answer, Time now);
  void on(int node, const NodeOutput& output, Time now);
  void on(int node, const NodeEnd& end, Time now);
  template <class Other>
  void on(int node, const Other&, Time now);
  void expire(int node, Time now);
  void settle(Time now);
  void settle_gathering(Time now);
  void give_up();
  void go(const std::string& address, Time now);
  void ask_who_reaches(Time now);
  void settle_reach(Time now);
  void settle_run();
  void finish(int code);
  void list(const std::vector<HostProblem>& problems);

  HeadPlan plan_;
  Random random_;
  Phase phase_ = Phase::gather;
  std::vector<Host> hosts_;
  std::vector<std::string> candidates_;  // addresses of node 0
  std::vector<HostProblem> problems_;
  int connecting_ = 0;
  int signals_ = 0;
  bool deaf_ = false;  // the console is full
  Time beat_ = never;
  std::map<std::string, int, std::less<>> warned_;  // a line, and the node that said it first
  HeadActions actions_;
};

}  // namespace launch
