// What the output of this node's workers says on its way through launch, for --progress and --hang-timeout: the step of
// each, and when anything was written last. LogStreams makes one for each attempt; the threads that read the streams
// write into it, and the loop reads it. It keeps no output, never waits for more than one look at a line, and makes no
// thread.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/progress/progress_pattern.hpp"
#include "launch/core/progress/progress_watch.hpp"
#include "launch/io/output_tally.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace launch {

// Called by the thread that has read these bytes of a stream.
using StreamEar = std::function<void(std::string_view bytes)>;

// Who wants to know what comes through a stream; either may be missing.
struct StreamListener {
  std::shared_ptr<StreamTally> tally{};
  StreamEar ear{};
  std::function<bool()> is_shown{};  // of a tap, asked for each piece; null: as it was added
};

class ProgressBoard {
 public:
  // Without a pattern no steps are looked for.
  ProgressBoard(std::optional<ProgressPattern> pattern, int nproc);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  // For one stream of a worker; the ear may outlive the board. Before the threads begin.
  StreamEar ear(LocalRank local_rank);

  // By any thread: the workers whose step is known.
  std::vector<RankProgress> steps();
  // When a worker wrote something that passed launch; nullopt: none has.
  std::optional<Time> heard_at() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch
