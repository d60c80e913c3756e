// The life of one node of a job: events in, actions out. It decides when workers start, when they are stopped, what is
// told to the other nodes, and the exit code. It never signals, waits or talks: app/agent_loop carries the actions out.
#pragma once

#include "launch/core/error.hpp"
#include "launch/core/failure_report.hpp"
#include "launch/core/job.hpp"
#include "launch/core/time.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace launch {

// One line each: clang-format would break them all.
// clang-format off

// Events.
struct RendezvousDone { Assignment assignment; };
struct RendezvousFailed { Error error; };
struct StartFailed { Failure failure; };   // no further worker was started
struct WorkerExited { int local_rank = 0; ExitStatus status; Failure failure; };  // failure: unless it ended well
struct SignalReceived { int signal = 0; };
struct PeerFailed { Failure failure; };    // the job's first failure, as the store has it
struct StoreLost { std::string reason; };
struct BarrierDone {};
struct AllGone {};                         // no process of this node's workers is left

// Actions, to be carried out in order.
struct StartRendezvous {};
struct StopRendezvous {};
struct StartWorkers { Assignment assignment; };
struct SignalWorkers { int signal = 0; };  // to every process group that is left
struct KillWorkers {};                     // SIGKILL to everything that is left
struct TellPeers { Failure failure; };     // write the abort key if nobody has; what it then holds comes as PeerFailed
struct EnterBarrier {};

// clang-format on

// The end: what to report and to return.
struct Finish {
  int exit_code = 0;
  std::optional<Failure> first;   // why the job failed
  std::vector<WorkerEnd> others;  // workers of this node other than that
  bool left_behind = false;       // something outlived SIGKILL
};

using AgentEvent = std::variant<RendezvousDone, RendezvousFailed, StartFailed, WorkerExited, SignalReceived, PeerFailed,
                                StoreLost, BarrierDone, AllGone>;
using AgentAction = std::variant<StartRendezvous, StopRendezvous, StartWorkers, SignalWorkers, KillWorkers, TellPeers,
                                 EnterBarrier, Finish>;
using AgentActions = std::vector<AgentAction>;

struct AgentSettings {
  int nnodes = 1;
  int node_rank = 0;
  int nproc = 1;
  std::string host;
  Duration shutdown_timeout{};
};

class Agent {
 public:
  explicit Agent(AgentSettings settings) : settings_(std::move(settings)) {}

  AgentActions start(Time now);
  AgentActions on(const AgentEvent& event, Time now);
  // When on_deadline() is to be called.
  Time deadline() const { return deadline_; }
  AgentActions on_deadline(Time now);

 private:
  enum class State {
    joining,   // in the rendezvous
    running,   // workers run
    clearing,  // all workers ended well; what they left behind is told to end
    leaving,   // in the exit barrier
    stopping,  // workers were told to end
    killing,   // SIGKILL was sent
    finished,
  };

  AgentActions handle(const RendezvousDone& event, Time now);
  AgentActions handle(const RendezvousFailed& event, Time now);
  AgentActions handle(const StartFailed& event, Time now);
  AgentActions handle(const WorkerExited& event, Time now);
  AgentActions handle(const SignalReceived& event, Time now);
  AgentActions handle(const PeerFailed& event, Time now);
  AgentActions handle(const StoreLost& event, Time now);
  AgentActions handle(const BarrierDone& event, Time now);
  AgentActions handle(const AllGone& event, Time now);

  bool winding_down() const { return state_ == State::stopping || state_ == State::killing; }
  // The job has failed: stops what runs here, with `signal`, and tells the others when the news is ours.
  AgentActions fail(Failure failure, int signal, bool tell, Time now);
  AgentActions stop(int signal, Time now);
  AgentActions kill(Time now);
  Finish finish();
  Failure make_failure(Failure::Kind kind, int exit_code, std::string what) const;

  AgentSettings settings_;
  State state_ = State::joining;
  Time deadline_ = never;
  Assignment assignment_;
  int running_ = 0;  // workers not yet seen to end
  bool kill_sent_ = false;
  bool left_behind_ = false;  // something outlived SIGKILL
  std::optional<Failure> first_;
  std::vector<WorkerEnd> ends_;
};

}  // namespace launch
