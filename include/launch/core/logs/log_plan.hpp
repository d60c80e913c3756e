// Where the two output streams of each worker go: torchrun's layout of files, and what the console shows of them.
//
// Pure: io/spawn decides which descriptor that becomes, and io/log_relay copies to the console.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace launch {

// What the user chose, settled for this node.
struct LogChoice {
  struct Streams {
    bool out = false;
    bool err = false;
  };
  std::vector<Streams> redirects;        // by local rank; to a file
  std::vector<Streams> tees;             // by local rank; to a file and from there to the console
  std::set<int> shown;                   // local ranks whose streams the console shows; empty: all
  std::string prefix;                    // of each line on the console, with macros
  std::vector<std::string> out_filters;  // lines that contain one of these are copied to filtered_stdout.log
  std::vector<std::string> err_filters;
  Streams coloured;             // the console's prefixes, one colour per rank
  Streams aligned;              // the console's prefixes, to one width
  bool fold = false;            // equal lines of several ranks are shown once
  bool through_launch = false;  // launch also writes the streams that go only to files
  bool taps_err = false;        // standard error that goes to no file passes launch, which keeps the last of it
  bool taps_out = false;        // so does standard output
  bool listens = false;         // what passes launch is listened to: for `progress`, and for signs of life
  std::string progress;         // where its lines tell the step (core/progress); empty: nowhere
  std::uint64_t max_size = 0;   // bytes, after which the next file begins; 0: never
  int max_files = 0;            // of one stream, with max_size
};

struct StreamPlan {
  enum class Sink {
    console,  // launch's own stream
    file,     // `file`, which the worker writes itself
    relay,    // launch, which writes `file`
    nowhere,  // /dev/null
    tap,      // launch, which passes it on to its own standard error if it is `shown`
    tap_out,  // the same for standard output
  };
  Sink sink = Sink::console;
  std::string file;
  bool shown =
      false;  // of a relay: its console has it, and shows it unless its rank is muted; of a tap: shown at first

  bool operator==(const StreamPlan&) const = default;
};

struct WorkerLogs {
  StreamPlan out, err;
};

// True if a stream of any worker goes to a file only, is shown by launch, goes to a file in either way.
bool hides_streams(const LogChoice& choice);
bool shows_streams(const LogChoice& choice);
bool keeps_streams(const LogChoice& choice);

// `folder` is that of the attempt; empty (--log-dir=/dev/null): everything goes to the console.
std::vector<WorkerLogs> plan_logs(const LogChoice& choice, const std::string& folder, int nproc);

}  // namespace launch
