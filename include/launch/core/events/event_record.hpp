// The events of a job, for programs to read: what happened on one node, each as one line of JSON (--events,
// docs/events.md).
//
// The names and the order of the fields are a promise to every reader: a field may be added at the end, none is
// removed. Times come in as values. torchrun's own form of events is in torchelastic_event.hpp.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/progress/progress_watch.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

// Which node reports: the same in every event until the rendezvous changes it.
struct EventContext {
  std::string run_id;
  std::optional<NodeRank> node_rank;  // nullopt: the rendezvous will assign it
  std::string host;
  int restart = 0;  // how many restarts the job has had
};

struct JobStarted {
  std::string version;  // of launch
  std::string program;  // as the user typed it
  std::vector<std::string> command;
  int nnodes = 1;
  int nproc_per_node = 1;
};

struct RendezvousFormed {
  Round round;
  Duration took{};  // since this node joined
};

struct WorkerStarted {
  GlobalRank rank{};
  LocalRank local_rank{};
  int pid = 0;
};

struct WorkerOver {
  WorkerStarted worker;
  ExitStatus status;
  Duration lived{};
};

// The workers are told to exit. Not used for processes that were left behind by workers that ended well.
struct Stopping {
  int signal = 0;
  std::string reason;
};

// SIGKILL is sent.
struct Killing {
  std::size_t processes = 0;
};

// All workers of the job restart.
struct Restarting {
  std::string reason;
  int number = 0;      // 0: nodes joined or left, or a user asked for it, which does not count as a restart
  bool asked = false;  // by a user
};

struct PeerFailure {
  Failure failure;
};

// A user has asked this node for something through launch-ctl that is more than a look.
struct UserAsked {
  std::string what;  // "restart"
  std::string by;    // "launch-ctl (pid 7 on n1)"
};

struct JobEnded {
  int exit_code = 0;
  std::optional<Failure> first;
};

// How far the workers of this node are (--progress).
struct Progressed {
  ProgressSum sum;
};

// No worker of the job has made progress for so long (--hang-timeout).
struct Hanging {
  Duration quiet{};
  std::vector<std::string> places;  // where the workers are, as the warning says
};

// The last worker of the job has come to the first meeting of the workers.
struct StartedUp {
  int world_size = 0;
  Duration formed{};                   // since the first worker was executed
  std::optional<Duration> median{};    // of the workers whose time is known
  std::vector<std::string> slowest{};  // as the message says
};

// Another node hosts the rendezvous now.
struct HostChange {
  std::string from, to;
  int term = 0;      // how often that has happened
  std::string at{};  // its address and port
};

using JobEvent = std::variant<JobStarted, RendezvousFormed, WorkerStarted, WorkerOver, Stopping, Killing, Restarting,
                              PeerFailure, JobEnded, UserAsked, Progressed, Hanging, StartedUp, HostChange>;

// ASCII, without the newline. Bytes that are not UTF-8 are replaced.
std::string to_json_line(const EventContext& context, const Instant& when, const JobEvent& event);

}  // namespace launch
