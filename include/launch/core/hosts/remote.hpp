// The other end of `launch --hosts`, on each host: `launch --remote 1`, which starts the ordinary launch of its node
// when the head says so, and ends it when the head does. A machine: app/remote_run has the pipes and the processes.
//
// It may also have the connections to other hosts (peers) for the head: bytes go through here, and nothing of them is
// looked at.
//
// The node is told to end (SIGTERM, as by a user) if the connection to the head ends or nothing comes for too long, and
// whatever happens this process leaves only when the node has ended: nothing is left behind. It starts at most one
// node. If it keeps the output of the node in files, it then waits for the head's word that all was shown, and removes
// them. If the head has gone before that, they stay.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/host_frames.hpp"
#include "launch/core/hosts/host_silence.hpp"

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace launch {

struct TellHead {
  HostMessage message;
};
// Is everything there? on_checked() is the answer.
struct CheckNode {
  NodeJob job;
};
// on_reach() is the answer.
struct TryToReach {
  ReachQuestion question;
};
struct RunNode {
  std::vector<std::string> args;
  std::string meeting;  // as in NodeGo
  bool input = false;   // FeedNode follows
};
struct SignalNode {
  int number;
  bool lost = false;  // since the head is lost, not because anybody has sent it
};
struct FeedNode {
  std::string bytes;  // empty: the end of its input
};
// on_peer_end() is the answer if that cannot be done.
struct ConnectPeer {
  int node;
  std::vector<std::string> argv;
};
struct FeedPeer {
  int node;
  std::string bytes;  // empty: the end of its input
};
// The files of the node's output are not needed to show it.
struct RemoveOutput {};
// Nobody hears what is told from now on, and the connections to peers are closed: they end soon, and each end is told.
struct ForgetHead {};
struct LeaveRemote {};
using RemoteAction = std::variant<TellHead, CheckNode, TryToReach, RunNode, SignalNode, FeedNode, ConnectPeer, FeedPeer,
                                  RemoveOutput, ForgetHead, LeaveRemote>;
using RemoteActions = std::vector<RemoteAction>;

class Remote {
 public:
  RemoteActions start(Time now);
  RemoteActions on_message(HostMessage message, Time now);
  // Something has come from the head, though not a whole message.
  void on_life(Time now);
  // The head has gone, or what it says makes no sense.
  RemoteActions on_lost();
  RemoteActions on_checked(HostMessage answer);
  RemoteActions on_reach(ReachAnswer answer);
  // Told to end by somebody on this host.
  RemoteActions on_signal(int number);
  RemoteActions on_output(NodeOutput output);
  // Of what it was fed.
  RemoteActions on_taken(std::size_t bytes);
  // The node has ended, and files of it will be told before on_end().
  RemoteActions on_files(NodeEnd end);
  RemoteActions on_file(NodeFile file);
  // The node has ended, and all that it wrote has been told; or it could not be started.
  RemoteActions on_end(NodeEnd end);
  RemoteActions on_peer_bytes(int node, std::string bytes);
  RemoteActions on_peer_end(PeerEnd end);
  RemoteActions on_deadline(Time now);
  Time deadline() const;

 private:
  enum class State {
    waiting,  // for the job
    checking,
    ready,
    unfit,  // has said that it cannot
    running,
    told,  // its node has ended, and the head may not have shown all yet
    over
  };

  std::optional<RemoteActions> on_peer_message(HostMessage& message);
  RemoteActions on_message_after_end(const HostMessage& message);
  void leave(RemoteActions& actions);
  Duration silence() const;  // of the head, for as long as this state lasts

  State state_ = State::waiting;
  bool headless_ = false;
  bool keeps_output_ = false;
  bool leaving_ = false;
  std::set<int> peers_;                      // whose connections are here
  Duration silence_ = longest_host_silence;  // as the job says
  Time lost_at_ = never;
  Time beat_ = never;
};

}  // namespace launch
