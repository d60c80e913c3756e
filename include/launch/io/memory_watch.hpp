// Tells whether the kernel's out-of-memory killer has ended processes of our control group. Looks at its counter twice
// a second, where there is one: a worker that is killed long after it has struck was not killed by it. It ends no
// process and waits for none.
#pragma once

#include "launch/core/host/memory_events.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace launch {

class MemoryWatch {
 public:
  explicit MemoryWatch(boost::asio::any_io_executor executor);

  // Of an attempt: remembers how many it has ended so far.
  void begin();

  // Whether it has ended the worker whose end by SIGKILL is being told.
  struct Evidence {
    bool of_worker = false;
    std::string text;  // with limit and peak; empty if it has ended none in this attempt, or if nobody counts them
  };
  Evidence evidence(bool worker_killed);

 private:
  void look_later();
  std::optional<std::int64_t> kills() const;
  std::string read(const char* of_version_2, const char* of_version_1) const;

  bool version_2_ = false;
  std::string folder_;  // of the group's files; empty: not found
  OomCount count_;
  boost::asio::steady_timer timer_;
};

}  // namespace launch
