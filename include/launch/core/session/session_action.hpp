// What a Session and the world say to each other, as values: actions out, events in. Carried out by app/session_runner,
// and by the simulator. A link is a connection to a store, by a number that the session gives; a question is an action
// with a number of its own, under which its answer comes. No answer comes to a question whose asker has gone.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/store/store_operation.hpp"
#include "launch/core/verdict/failure_report.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

using LinkId = std::uint64_t;
using QuestionId = std::uint64_t;

// Which of the two stores that a node may host.
enum class OwnStore {
  job,      // where the nodes meet; in a static job the workers', too
  workers,  // of a c10d round that this node leads
};

// clang-format off

// ---- questions

// One try to connect to a store and to greet it. → Opened
struct OpenLink { LinkId link = 0; Endpoint endpoint; Time deadline; };
// One at a time on a link. An error `closed`: the link has ended, or was closed; `silent`: see Beat. → Answered
struct AskStore { LinkId link = 0; Operation operation; Time deadline; };
// `quietly`: nobody needs to know why it fails. → Listening
struct Listen { OwnStore store = OwnStore::job; Endpoint at; bool loopback_only = false; bool quietly = false; };
// Until no client talks to the own store, or no launch agent is there any more, or hurried. → Clients
struct AwaitNoClients { bool agents_only = false; Time deadline; };
struct FindFreePort {};                                                     // → std::uint16_t
// Whether a name leads to this machine. → Whereabouts
struct LocateHost { std::string host; std::string own_name; Time deadline; };
// Whether this process of this host is a launch agent, and not this one. → bool
struct LookForAgent { int pid = 0; };

struct Opened { LinkId link = 0; Status status; Endpoint peer; std::string own_address; };  // both of its sides
struct Answered { Result<Outcome> outcome; };
// `port`: the one that was taken. `cooling`: nobody has it, but the kernel keeps it for a while.
struct Listening { Status status; std::uint16_t port = 0; bool cooling = false; };
struct Clients { std::size_t left = 0; std::vector<std::string> where; };  // some of them

using Question = std::variant<OpenLink, AskStore, Listen, AwaitNoClients, FindFreePort, LocateHost, LookForAgent>;
using AnswerValue = std::variant<Opened, Answered, Listening, Clients, std::uint16_t, Whereabouts, bool>;

// ---- actions without an answer

struct Ask { QuestionId id = 0; Question question; };
// While an operation waits for others, the store hears of this node each `interval`, and must answer within `patience`;
// without an interval, only that long does a store have to answer a wait that is given up.
struct Beat { LinkId link = 0; std::optional<Duration> interval; Duration patience{}; };
struct WakeLink { LinkId link = 0; };   // ends the wait under way as its deadline would
struct PartLink { LinkId link = 0; };   // takes the will back, and closes
struct CloseLink { LinkId link = 0; };  // ends what is asked there, with an error
// What the job's store is told before it listens. Of a static job: how keys of agents begin, since workers use the
// store, too, and whose nodes, some of which may be torchrun's.
struct PrepareStore {
  Duration silence_limit{};
  std::vector<std::string> agent_keys{};
  std::string run_id{};
  int nnodes = 0;
};
// Removes what workers left in an own store, and their connections.
struct FenceStore { OwnStore store = OwnStore::job; };
struct StopAwaiting {};                 // ends AwaitNoClients, now and from now on

// For the agent. `first`: ahead of what waits.
struct Tell { AgentEvent event; bool first = false; };
// How long workers may still run, whatever the agent is at.
struct LimitGrace { Duration grace{}; };
// What the agent has not read yet of the round that ends is void.
struct ForgetRound {};
// For the user.
struct Say {
  enum class Level { progress, info, warning };
  Level level = Level::progress;
  std::string text;
};

// What has come of Open, TellOthers, ShareAccount and EndSession.
struct SessionOpened { Status status; };
struct OthersTold {};
struct AccountShared { Account account; };
struct SessionEnded {};

using SessionAction = std::variant<Ask, Beat, WakeLink, PartLink, CloseLink, PrepareStore, FenceStore, StopAwaiting,
                                   Tell, LimitGrace, ForgetRound, Say, SessionOpened, OthersTold, AccountShared,
                                   SessionEnded>;
using SessionActions = std::vector<SessionAction>;

// ---- events

// Opens the listener, if this node is known to have one: before anything else, so that a busy port costs nothing.
// Answered at once by SessionOpened.
struct OpenSession {};
// The next round: RendezvousDone or RendezvousFailed will be told, afterwards PeerFailed, MembersChanged and StoreLost.
struct JoinRound { bool admits = true; int restarts = 0; };  // as StartRendezvous
struct StopJoining {};
// Unless somebody has told of another failure first: the first one is told as PeerFailed, ahead of what waits.
struct TellOthers { Failure failure; };
// BarrierDone comes when every node has come here, or too long after.
struct EnterExitBarrier {};
// After the failure `first`, when no worker is left here: what is known of the end of the workers of all launch nodes,
// once all of them have told, or too late. This node's own account is always there.
struct ShareAccount { Account own; Failure first; };
// This node's last word; SessionEnded comes when the others no longer need it.
struct EndSession { bool failed = false; };
struct HurrySession {};  // ShareAccount and EndSession must return soon
struct Answer { QuestionId id = 0; AnswerValue value; };
struct MomentReached {};  // Session::deadline()

using SessionEvent = std::variant<OpenSession, JoinRound, StopJoining, TellOthers, EnterExitBarrier, ShareAccount,
                                  EndSession, HurrySession, Answer, MomentReached>;

// clang-format on

// What is known whenever something happens.
struct Moment {
  Instant now;
  Duration report_interval = std::chrono::seconds(30);  // between two words to the user about a wait
};

}  // namespace launch
