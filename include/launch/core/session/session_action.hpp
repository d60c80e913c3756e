// What a Session and the world say to each other, as values: actions out, events in. app/session_runner and the
// simulator carry them out. A link is a connection to a store, under a number that the session gives. A question is an
// action with a number of its own, under which its answer comes. If the asker is gone by then, the answer is dropped.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/c10d/succession.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/node_desc.hpp"
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
  job,      // where the nodes meet; in a static job, the workers, too
  workers,  // where the workers of a c10d round meet that this node leads
};

// clang-format off

// ---- questions

// One try to connect to a store and to greet it. An error `no_listener`: no process listens there. → Opened
struct OpenLink { LinkId link = 0; Endpoint endpoint; Time deadline; };
// One at a time on a link. An error `closed`: the link has ended, or was closed; `silent`: see Beat. → Answered
struct AskStore { LinkId link = 0; Operation operation; Time deadline; };
// `quietly`: nobody needs to know why it fails. → Listening
struct Listen { OwnStore store = OwnStore::job; Endpoint at; bool loopback_only = false; bool quietly = false; };
// A store at this address, at the first of `ports` that is free, else at any free port, which this node may host later;
// until then it is closed to all but those who look for the next host, which is `own` then. Listen for the job's store
// opens it for all. → DoorOpened
struct OpenDoor { std::string address; NodeDesc own; std::vector<std::uint16_t> ports{}; };
// Waits until nobody of these talks to this node's job store any more: clients of any kind, launch agents, or launch
// agents whose workers may still run, since they have not asked for the next round. StopAwaiting ends the wait.
// → Clients
enum class Clientele { all, agents, busy };
struct AwaitNoClients { Clientele who = Clientele::all; Time deadline; };
struct CountNodes {};                                                       // at this node's job store → Nodes
struct FindFreePort {};                                                     // → std::uint16_t
// Whether a name leads to this machine. → Whereabouts
struct LocateHost { std::string host; std::string own_name; Time deadline; };
// Whether process `pid` of this host is a launch agent other than this one. → bool
struct LookForAgent { int pid = 0; };

struct Opened { LinkId link = 0; Status status; Endpoint peer; std::string own_address; };  // addresses of both sides
// `hung_up`: the kernel of the other side has closed the link in order: its process has ended, or has closed it.
// `lived_at`: when the last message of a link that beats, and that was answered, was sent. `heard_at`: when the last
// bytes came.
struct Answered { Result<Outcome> outcome; bool hung_up = false; Time lived_at{}, heard_at{}; };
// `port`: the one that was taken. `cooling`: nobody uses it, but the kernel keeps it for a while.
struct Listening { Status status; std::uint16_t port = 0; bool cooling = false; };
// `port`: 0: none was free. `taken`: another process has one of those that were wished.
struct DoorOpened { std::uint16_t port = 0; bool taken = false; };
struct Clients { std::size_t left = 0; std::vector<std::string> where; };  // `where`: some of them
struct Nodes { std::size_t others = 0, leaving = 0; };  // but for this one; `others`: spares too; `leaving`: of these

using Question =
    std::variant<OpenLink, AskStore, Listen, OpenDoor, AwaitNoClients, CountNodes, FindFreePort, LocateHost,
                 LookForAgent>;
using AnswerValue =
    std::variant<Opened, Answered, Listening, DoorOpened, Clients, Nodes, std::uint16_t, Whereabouts, bool>;

// For people who asked for each step: "connected to the store at 10.0.0.1:29500". Empty: not worth a line.
std::string to_text(const AnswerValue& answer);

// ---- actions without an answer

struct Ask { QuestionId id = 0; Question question; };
// While an operation waits for others, the store hears a beat of this node each `interval`, and must answer within
// `patience`. Without an interval there are no beats: `patience` is how long the store may take to answer a wait that
// is given up.
struct Beat { LinkId link = 0; std::optional<Duration> interval; Duration patience{}; };
struct WakeLink { LinkId link = 0; };   // ends the wait under way as its deadline would
struct PartLink { LinkId link = 0; };   // takes the will back, and closes
// Ends what is under way there, with an error. `resets`: not in order, so that the other side does not believe that
// this process has ended.
struct CloseLink { LinkId link = 0; bool resets = false; };
// What the job's store is told before it listens, and the job's run id. For a static job also how the keys of agents
// begin, since workers use the store, too; and the number of nodes, since some may be torchrun's.
struct PrepareStore {
  Duration silence_limit{};
  std::string name{};  // of a store that may move: see store_name_key()
  std::vector<std::string> agent_keys{};
  std::string run_id{};
  int nnodes = 0;
};
// What the store behind this node's door says to those who look for the job with this key of its state, as long as it
// is closed: where that is. Nothing: this node knows of none.
struct PointTo { std::string key; std::optional<MovedJob> job; };
// Removes what workers left in a store of this node, and closes their connections.
struct FenceStore { OwnStore store = OwnStore::job; };
// News: another node hosts the job's store now, at `at`. `term`: how often it has moved.
struct HostMoved { std::string from, to; int term = 0; Endpoint at{}; };
struct StopAwaiting {};                 // ends AwaitNoClients, the one under way and later ones

// For the agent. `first`: before the events that wait.
struct Tell { AgentEvent event; bool first = false; };
// How long workers may still run, whatever the agent is doing.
struct LimitGrace { Duration grace{}; };
// Events of the round that ends are void if the agent has not read them yet.
struct ForgetRound {};
// For the user.
struct Say {
  enum class Level { progress, info, warning };
  Level level = Level::progress;
  std::string text;
};

// The results of OpenSession, TellOthers, ShareAccount and EndSession.
struct SessionOpened { Status status; };
struct OthersTold {};
struct AccountShared { Account account; };
struct SessionEnded {};

// Another node of the round asks this one: AnswerAsk with this number must come.
struct Asked { std::uint64_t number = 0; std::string text; };
// `fault` is empty if it answered. `text` may hold any bytes.
struct NodeAnswer { NodeRank node{}; std::string text; std::string fault; };
// The result of AskJob: one entry for each other node of the present round, ascending; none if there is no such round
// any more, or if its store is lost.
struct JobAnswered { std::uint64_t id = 0; std::vector<NodeAnswer> answers; };

using SessionAction = std::variant<Ask, Beat, WakeLink, PartLink, CloseLink, PrepareStore, PointTo, FenceStore,
                                   HostMoved, StopAwaiting, Tell, LimitGrace, ForgetRound, Say, SessionOpened,
                                   OthersTold, AccountShared, SessionEnded, Asked, JobAnswered>;
using SessionActions = std::vector<SessionAction>;

// ---- events

// Opens the listener, if this node is known to have one: before anything else, so that a busy port costs nothing.
// Answered at once by SessionOpened.
struct OpenSession {};
// Joins the next round: RendezvousDone or RendezvousFailed will be told, and after that PeerFailed, MembersChanged and
// StoreLost.
struct JoinRound { bool admits = true; int restarts = 0; };  // as in StartRendezvous
struct StopJoining {};
// Tells the others of `failure`, unless another failure was told before it. The first one comes as PeerFailed, before
// the events that wait.
struct TellOthers { Failure failure; };
// BarrierDone comes when every node has reached the barrier, or when that takes too long.
struct EnterExitBarrier {};
// Comes after the failure `first`, when no worker is left here. It asks what is known of the end of the workers of all
// launch nodes, once all nodes have told, or when that takes too long. This node's own account is always there.
struct ShareAccount { Account own; Failure first; };
// Ends this node's part; SessionEnded comes when the others no longer need this node.
struct EndSession { bool failed = false; };
struct HurrySession {};  // ShareAccount and EndSession must be answered soon
// Asks all other nodes of the present round, and waits no longer than that for their answers. JobAnswered comes exactly
// once.
struct AskJob { std::uint64_t id = 0; std::string text; Duration patience{}; };
// This node's answer to an Asked; void if that was asked in a round that is over.
struct AnswerAsk { std::uint64_t number = 0; std::string text; };
struct Answer { QuestionId id = 0; AnswerValue value; };
struct MomentReached {};  // Session::deadline() has come

using SessionEvent = std::variant<OpenSession, JoinRound, StopJoining, TellOthers, EnterExitBarrier, ShareAccount,
                                  EndSession, HurrySession, AskJob, AnswerAsk, Answer, MomentReached>;

// clang-format on

// What every event brings with it.
struct Moment {
  Instant now;
  Duration report_interval = std::chrono::seconds(30);  // between two lines to the user about a wait
};

}  // namespace launch
