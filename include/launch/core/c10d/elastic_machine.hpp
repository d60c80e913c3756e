// The agent's part in a c10d rendezvous, as its session sees it: it joins rounds, notices nodes that join or leave,
// leaves and closes. There are three kinds: HostedRendezvous if a launch agent hosts the store, ElasticRendezvous if
// torchrun does or no node does, VersionRendezvous at an etcd in torchrun's older way.
//
// A machine: each step is an operation on the store, and the news for the agent; deadline() bounds the operation. A
// wish (join, close, ...) takes effect with the next step: the caller interrupts a wait for it.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/random.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/c10d/elastic_state.hpp"
#include "launch/core/c10d/succession.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/store/store_operation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

// The news of a step.
struct RoundFormed {
  std::int64_t round = 0;
  NodeRank rank{};  // of this node
  int nnodes = 1;   // in the round
  NodeDesc leader;
  std::vector<NodeRank> torchrun{};        // ranks of torchrun's agents
  std::optional<Assignment> assignment{};  // if the other nodes need not be asked for it
  int restarts = 0;                        // of the job, as its members know it
  CommonSettings common{};                 // of the job; empty: this node has the same
  LastRound succession{};                  // if the host ends

  bool operator==(const RoundFormed&) const = default;
};
// clang-format off
struct RoundBroken {
  enum class Cause {
    change,   // a node wants to join, or has left
    restart,  // a launch agent restarts, and has written why under the abort key
    loss,     // a node has gone without a report; it may have been about to exit
  };
  std::string reason;
  Cause cause = Cause::change;
  NodeRank gone = NodeRank::none();  // the node that has left or is lost, if it is known
  bool operator==(const RoundBroken&) const = default;
};
struct RoundWaits {  // for a progress line
  int arrived = 0;
  bool spare = false;
  Duration left{};
  bool begun = false;  // a round of the job has formed
  int awaited = 0;     // while it is not clear who may go on without the last host: members of its round that may live,
                       // of which `arrived` have come
  LastRound succession{};  // if the host ends
  std::optional<Duration> patience{};  // with those of `awaited` that have not come; nothing: without limit
  bool unasked = false;    // it holds the succession only; set by the machine
  bool may_go_on() const { return begun && awaited == 0; }  // those who are here, if they are as many as the job needs
  bool operator==(const RoundWaits&) const = default;
};
struct RoundRefused {  // time-out, closed or contradiction
  Error error;
  bool spare = false;  // this node was a spare that was not needed
  bool begun = false;  // the job runs, and this node was never a member
  bool few = false;    // those who came are too few to go on without the others
};
struct RoundMoved { MovedJob job; };  // the job lives elsewhere: no round forms here
struct WillLeft {};         // what pledge() asked for is done
struct RendezvousEnded {};  // what leave() or close() asked for is done, or was given up
// clang-format on

using ElasticNews =
    std::variant<RoundFormed, RoundBroken, RoundWaits, RoundRefused, RoundMoved, WillLeft, RendezvousEnded>;

struct ElasticStep {
  Operation next;
  std::vector<ElasticNews> news;
};

inline constexpr Duration store_answer_time = std::chrono::seconds(60);  // if the store runs; torchrun's read_timeout
inline constexpr Duration first_elastic_report = std::chrono::seconds(1);
inline constexpr Duration torchrun_looks = std::chrono::seconds(2);  // at the state, once within this time

// Nodes that write the state at the same time make each other lose. From the second loss in a row on, a node waits a
// random time before it writes again.
class LostWrites {
 public:
  explicit LostWrites(Random random) : random_(random) {}

  void note(bool lost) { in_row_ = lost ? in_row_ + 1 : 0; }
  // How long it waits now; nullopt: it may write. The write after a wait is not put off again.
  std::optional<Duration> pause();

 private:
  Random random_;
  int in_row_ = 0;
};

class ElasticMachine {
 public:
  virtual ~ElasticMachine();

  virtual ElasticStep start(Instant now) = 0;
  // An error: what the store holds or answers makes no sense.
  virtual Result<ElasticStep> on(const Outcome& outcome, Instant now) = 0;
  virtual Time deadline() const = 0;

  // Leaves the round it is in, if any, and joins the next. `restarts`: how many the job has had, as far as this node
  // knows.
  virtual void join(Time now, int restarts) = 0;
  // Closes the rendezvous for good, for everybody.
  virtual void close(Time now) = 0;
  // Leaves without closing: the others keep waiting. `reason` is for them.
  virtual void leave(Time now, std::string reason) = 0;
  // From now on nodes that join do not break up the round; they wait for the next one.
  virtual void admit_nobody() = 0;
};

}  // namespace launch
