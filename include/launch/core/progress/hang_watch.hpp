// How long the workers of this node have been quiet (--hang-timeout): since the last step, if steps are known; else
// since the last sign of work. It counts as work if a worker writes, reads or writes files, gets memory, starts or ends
// a process, is stopped by somebody, or uses a processor; but a worker with an accelerator may spin while it waits for
// others, so there a steady use of processors is no sign. When in doubt it is work: an alarm that comes late is better
// than a false one. Pure; time is a parameter. It asks no other node: HangJudge says when the whole job hangs.
#pragma once

#include "launch/core/base/time.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace launch {

// What a worker and its children have used so far.
struct WorkTally {
  double cpu_s = 0;            // of all processors
  std::uint64_t faults = 0;    // pages of memory that it got
  std::uint64_t io_bytes = 0;  // read and written, by all ways
  std::uint64_t output = 0;    // the sizes of the files of its output
  std::vector<pid_t> family;   // these processes
  bool stopped = false;        // one of them is, by a signal or a debugger
  bool runnable = false;       // one of them computes, or would if it got a processor
  bool accelerator = false;    // one of them has an accelerator open
};
using WorkTallies = std::map<pid_t, WorkTally>;  // by worker

// How long nothing has happened, and what that is known from.
struct Quiet {
  Duration time{};
  bool by_steps = false;
};

// How often to look at the workers: a tenth of the time-out, but neither all the time nor hardly ever.
Duration look_interval(Duration timeout);

class HangWatch {
 public:
  // `interval`: the usual time between two samples.
  explicit HangWatch(Duration interval) : interval_(interval) {}

  // Workers are about to be started.
  void begin(Time now);
  void sample(WorkTallies tallies, Time now);
  // When a worker last wrote something that passed launch, and when a step last changed.
  void heard(Time at);
  void stepped(Time at);
  // It was seen in another way that a worker works.
  void worked(Time at) { worked_ = std::max(worked_, at); }
  // Since `from` we have disturbed the workers, so what they have done because of that is no sign of work.
  void disturbed(Time from, Time until);

  Quiet quiet(Time now) const;

 private:
  struct Known {
    WorkTally tally;
    double use = 0;  // of processors, in the last interval
    bool measured = false;
  };
  static bool shows_work(const Known& before, const WorkTally& after, double seconds);

  Duration interval_;
  Time began_{};
  Time worked_{};
  std::optional<Time> stepped_;
  std::optional<Time> sampled_;  // nullopt: what was known before no longer counts
  Time undisturbed_{};           // when the last disturbance was over, and when it began
  Time disturbed_{};
  std::map<pid_t, Known> known_;
};

}  // namespace launch
