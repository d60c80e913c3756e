// What ended a job, as a value: told to the other nodes as JSON through the abort key, and to the user as a short text.
//
// The first failure of a job is the one that the store saw first: the abort key is written by compare-and-set.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/json_reader.hpp"
#include "launch/core/job/job.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct Failure {
  enum class Kind {
    worker,      // a worker ended with a code other than 0, or by a signal
    start,       // a worker could not be started
    rendezvous,  // the nodes did not find each other, or contradicted each other
    signal,      // a launch process was told to stop
    store,       // the store's host was lost
    hang,        // no worker of the job made progress for --hang-timeout
    lost,        // a launch process or its host was lost without a word; or nodes joined or left once too often
    asked,       // a user asked for a restart: nothing has failed, and it counts as no restart
  };
  Kind kind = Kind::worker;
  int exit_code = 1;     // the exit code of every launch of the job
  bool restart = false;  // not the end: all nodes restart their workers
  int restarts = 0;      // of the job, this one included; 0: not counted, or the launch that wrote it does not tell
  NodeRank node_rank{};  // where it happened; none: that node has no rank yet or, without a host, is not known
  std::string host;
  GlobalRank rank = GlobalRank::none();  // worker and start only
  LocalRank local_rank = LocalRank::none();
  int pid = 0;                          // worker only
  std::string what;                     // "exit code 7", "signal 11 (SIGSEGV)", or a sentence
  std::string why_final;                // why no restart follows, if restarts were asked for
  std::string time;                     // local time of that host, as text
  std::string detail;                   // the worker's own error, from its error.json or its traceback; may be empty
  std::vector<std::string> causes;      // the exceptions that led to it, the first one first; may be empty
  std::vector<std::string> members;     // if it is an exception group
  std::vector<std::string> frames;      // the last lines of its Python traceback; may be empty
  std::vector<std::string> last_lines;  // of its standard error, if neither of these tells why it ended
  std::string note;                     // what launch itself found out about it: a full disk, another interpreter
  std::string error_file;               // where its error.json is; may be empty
  bool of_all = false;                  // signal only: every node was told to stop; not told to the other nodes
  std::string log_file;                 // where the worker's errors went, as text; empty: to the console

  bool operator==(const Failure&) const = default;
};

// The node where it happened; without a rank and a host, the node is not known.
struct FailurePlace {
  NodeRank node_rank = NodeRank::none();
  std::string host;
};

struct FailedWorker {
  GlobalRank rank = GlobalRank::none();
  LocalRank local_rank = LocalRank::none();
  int pid = 0;       // 0: it could not be started
  std::string time;  // local time of its host, as text
};

// One function for each kind: all that is known of the failure, and no restart. `what` is as in Failure.
Failure failure_of_worker(FailurePlace where, FailedWorker who, const ExitStatus& status);
Failure failure_of_start(FailurePlace where, std::string what);
Failure failure_of_start(FailurePlace where, FailedWorker who, int exit_code, std::string what);
Failure failure_of_rendezvous(FailurePlace where, const Error& error);
Failure failure_of_signal(FailurePlace where, int exit_code, std::string what);
Failure failure_of_store(FailurePlace where, std::string what);
// It is no node's more than another's.
Failure failure_of_hang(std::string what);
Failure failure_of_lost_node(FailurePlace where, std::string what);
// All nodes restart their workers.
Failure restart_asked_for(FailurePlace where, std::string what);

std::string to_json(const Failure& failure);
Result<Failure> parse_failure(std::string_view json);
Result<Failure> read_failure(const JsonValue& object);  // one that is a part of something else

// Whether new workers may do better, so that a restart may follow.
bool concerns_workers(const Failure& failure);

// Whether the worker may have ended because others hang: by an abort or a time-out.
bool smells_of_hang(const Failure& failure);

// Whether the worker waited for other ranks in vain, as its error or its traceback says.
bool timed_out(const Failure& failure);
// Whether another rank closed its connection, without a time-out.
bool lost_its_peer(const Failure& failure);
// Either of the two.
bool is_due_to_others(const Failure& failure);

// Whether the worker's error is what it saw of others: a time-out, or a connection that another one closed.
bool speaks_of_others(const Failure& failure);

// One line: "rank 3 (local rank 1) on node 1 (host n1): exit code 7".
std::string describe(const Failure& failure);

// For an error.json, into which a worker may write anything: a longer or deeper one counts as none.
inline constexpr JsonBounds error_file_bounds{.size = std::size_t{1} * 1024 * 1024, .depth = 100};

// The message of an error.json as torch's `record` writes it: one line of at most 2,000 bytes; empty if there is none.
std::string error_message(std::string_view error_json);

// The text of the traceback in an error.json; empty if there is none.
std::string error_traceback(std::string_view error_json);

// What goes into the error file of the process that started launch, as torchrun hands a failure up: the worker's own
// error.json with its exit code added. If there is none, or it is of another form: one that tells of the failure.
std::string error_for_parent(const Failure& first, std::string_view error_json);

}  // namespace launch
