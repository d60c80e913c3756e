// Tells whether the kernel's out-of-memory killer has ended processes of our control group. It looks at the killer's
// counter twice a second, if there is one: a worker that dies long after the counter rose was not ended by the killer.
// It ends no process and waits for none.
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
  explicit MemoryWatch(const boost::asio::any_io_executor& executor);

  // An attempt begins: remembers how many processes the killer has ended so far.
  void begin();

  // Whether the killer has ended the worker whose end is being reported. `worker_killed`: that end was by SIGKILL.
  struct Evidence {
    bool of_worker = false;
    std::string text;  // with limit and peak; empty if it has ended none in this attempt, or if there is no counter
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
