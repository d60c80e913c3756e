// When each part of a log file was written: a bounded index of positions in the file, kept by whoever writes it. Parts
// begin a second apart; if there are too many, neighbours are joined that together are short beside their age.
// Positions are bytes from the beginning of the file, times are of the monotonic clock of this host. Nothing fails. It
// reads no clock and no file.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace launch {

class LogTimes {
 public:
  static constexpr std::size_t most_parts = 4096;

  // Bytes were written from this position on. Positions ascend, except after cut().
  void wrote(std::uint64_t position, Time at);
  // The file was cut there, and goes on from there.
  void cut(std::uint64_t position);
  // A new, empty file takes the place of this one.
  void clear();

  // Where what was written since `since` begins: perhaps a little earlier, never later. nullopt: nothing was.
  std::optional<std::uint64_t> begin_of(Time since) const;
  // Some of that is in a file whose place this one took.
  bool is_in_older_file(Time since) const { return last_of_older_ && *last_of_older_ >= since; }
  std::size_t size() const { return parts_.size(); }

 private:
  struct Part {
    std::uint64_t position;  // it ends where the next one begins
    Time first;              // when it was begun
    Time last;               // when something was last added to it
  };

  void join_old_parts(Time at);

  std::vector<Part> parts_;
  std::optional<Time> last_of_older_;  // when an older file was last written to
};

}  // namespace launch
