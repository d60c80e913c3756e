// Counts what the workers write through launch, for its metrics: lines, bytes, and when each wrote first and last. The
// threads of io/log_relay and io/stderr_tap count, anybody may read at any time. It lives from one attempt to the next,
// so what it counts never falls. It keeps no bytes.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/rank.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace launch {

enum class TallyKeeps {
  all,
  first,  // only when each stream was first written to
};

// One stream of a worker.
class StreamTally {
 public:
  explicit StreamTally(TallyKeeps keeps = TallyKeeps::all) : keeps_(keeps) {}

  // A new worker writes to it. Called before the threads of the attempt begin.
  void begin();
  // The worker has written this; by one thread at a time.
  void take(std::string_view bytes, Time at);
  void lose(std::uint64_t bytes) { lost_ += bytes; }
  // So many were lost since begin().
  void set_lost(std::uint64_t bytes);

  bool passes() const { return passes_; }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t lost() const { return lost_; }
  // nullopt: nothing since begin().
  std::optional<Time> first() const;
  std::optional<Time> last() const;

 private:
  TallyKeeps keeps_;
  std::atomic<bool> passes_ = false;
  std::atomic<std::uint64_t> lines_ = 0, bytes_ = 0, lost_ = 0, lost_before_ = 0;
  std::atomic<Time> first_{Time()}, last_{Time()};
};

class OutputTally {
 public:
  enum Which {
    out,
    err
  };

  // Of a node with `nproc` workers.
  explicit OutputTally(int nproc, TallyKeeps keeps = TallyKeeps::all);

  const std::shared_ptr<StreamTally>& of(LocalRank local_rank, Which which) const {
    return streams_.at(local_rank.index()).at(which);
  }

 private:
  std::vector<std::array<std::shared_ptr<StreamTally>, 2>> streams_;  // by local rank
};

}  // namespace launch
