// The hosts of `launch --hosts` as the head sees them, by node rank, what is wrong with them, and what is to be done
// about it: what core/hosts/head and core/hosts/doctor, and core/hosts/gathering as a part of either, do alike. Times
// are those of one host's clock. Decides nothing by itself.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/folded_output.hpp"
#include "launch/core/hosts/head_host.hpp"
#include "launch/core/hosts/head_plan.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace launch {

// What the head wants done; app does it, in this order.
struct ConnectHost {
  int node;
  bool copies = false;            // this program is sent there first
  int starter = started_by_head;  // the node whose host does it
};
struct TellHost {
  int node;
  HostMessage message;
};
// Nothing more is said to it: its connection is closed.
struct LeaveHost {
  int node;
  bool silent = false;  // it will hardly notice, so nobody waits for that
};
struct ShowLines {
  bool errors;  // on standard error
  std::string lines;
};
struct SayLine {
  bool wrong;
  std::string text;
};
struct WarnLine {
  std::string text;
};
// Once all lines shown so far have been taken by the console, the host is told so (NodeShown).
struct ConfirmHost {
  int node;
  bool leaves = true;  // it is left then
};
struct StoreFile {
  int node;
  NodeFile file;
};
// No more files will come from there.
struct EndFiles {
  int node;
};
struct FinishHead {
  int exit_code = 0;
  std::string report{};  // for people; may be empty
  std::string json{};    // the same for programs
  bool began = false;    // nodes were started, and it is their end
};
using HeadAction = std::variant<ConnectHost, TellHost, LeaveHost, ShowLines, SayLine, WarnLine, ConfirmHost, StoreFile,
                                EndFiles, FinishHead>;
using HeadActions = std::vector<HeadAction>;

// What hosts in these states are waited for.
struct HostsDoing {
  const char* words;
  std::initializer_list<HeadHost::State> states;
};

class HostTable {
 public:
  using State = HeadHost::State;

  explicit HostTable(HeadPlan plan);

  const HeadPlan& plan() const { return plan_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  std::vector<HeadHost>& hosts() { return hosts_; }
  const std::vector<HeadHost>& hosts() const { return hosts_; }
  HeadHost& at(int node) { return hosts_[static_cast<std::size_t>(node)]; }
  const HeadHost& at(int node) const { return hosts_[static_cast<std::size_t>(node)]; }
  const std::string& name(int node) const { return plan_.nodes[static_cast<std::size_t>(node)].host; }
  // Connections without a greeting, of those that the head or a host makes.
  int connecting(int starter) const { return starter == started_by_head ? connecting_ : at(starter).connecting_peers; }
  int count(State state) const { return counts_[static_cast<std::size_t>(state)]; }
  std::vector<std::string> names(std::initializer_list<State> states) const;
  // "waiting for 2 of 3 hosts: connecting to n1; checking n3": for the hosts in these states.
  std::string progress(std::initializer_list<HostsDoing> doing) const;
  const std::vector<HostProblem>& problems() const { return problems_; }
  // Hosts that were lost while their nodes ran.
  const std::vector<HostProblem>& losses() const { return losses_; }

  // All of them said that they are ready, and on the same machine.
  bool is_one_machine() const;
  // There are nodes that have not ended.
  bool some_run() const;
  // A node has said why the job has failed; not only that it was told to stop.
  bool has_report() const;

  // Its connection is being made, by its starter; and has ended.
  void connect(int node, Time when);
  void disconnect(int node);
  // Nothing more is said to it.
  void leave(int node);
  // The same if it has no peers, whose connections would end with it.
  void leave_unless_needed(int node);
  void confirm(int node);
  // What the host must do in this state has its limit from now on; without a limit, it stays so until `when`.
  void move(int node, State state, Time when);
  // The host takes no part, or not any more. What others say is still waited for, so that all problems are listed.
  void drop(int node, const HostProblem& problem);
  // The same for one whose node runs, after a silence.
  void drop_if_silent(int node, Time now, bool slept);
  // Its node is lost, but the launch that has started it there is not. Or its node has ended before, and nothing is.
  void lose(int node, const HostProblem& problem);
  // As drop() for one that says so itself; it still carries the connections to others that it has made.
  void put_out(int node, const HostProblem& problem);
  // What comes from there is no message of a launch.
  void nonsense(int node, const std::string& what);
  // What it has written of a line.
  void flush(int node);

  // Equal lines are shown once from now on; `ranks` as in FoldedOutput.
  void fold(int ranks);
  // What is to be shown of a line is appended to `text`.
  void take(bool errors, std::string_view line, Time now, std::string& text);
  // What has waited for equal lines for long enough, or all of it.
  void show_folded(Time now);
  void show_all_folded();
  Time fold_due() const;

  // Hosts that must know that the head lives are told so, if it is time.
  void start_beats(Time now) { beat_ = later(now, between_host_beats(plan_.silence)); }
  void beat(Time now);
  Time next_beat() const { return beat_; }

  void add(HeadAction action) { actions_.push_back(std::move(action)); }
  void say(const std::vector<HostProblem>& problems);
  HeadActions take() { return std::exchange(actions_, {}); }

 private:
  int& connecting_of(int starter) { return starter == started_by_head ? connecting_ : at(starter).connecting_peers; }

  HeadPlan plan_;
  std::vector<HeadHost> hosts_;
  std::array<int, HeadHost::states> counts_{};
  int connecting_ = 0;
  Time beat_ = never;
  std::vector<HostProblem> problems_, losses_;
  std::vector<FoldedOutput> folded_;  // of standard output and error; empty: lines pass as they are
  HeadActions actions_;
};

}  // namespace launch
