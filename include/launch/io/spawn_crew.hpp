// Who makes workers at the same time: the thread of the caller, member 0, and threads beside it. They are made when
// first called and then kept, because the workers that are made on one die with it (io/spawn).
//
// A thread sleeps while its child executes a program. So one thread alone makes the next worker only when the last one
// runs, and leaves all processors but one idle. Each member has slots of its own for the streams of its children. If
// the system refuses a thread, the caller does that member's part, too. It decides neither what is made nor when.
#pragma once

#include "launch/io/disk_thread.hpp"
#include "launch/io/stream_slots.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

namespace launch {

class SpawnCrew {
 public:
  static constexpr std::size_t size = 4;

  // To be made early, when few files are open (io/stream_slots).
  explicit SpawnCrew(boost::asio::any_io_executor executor);

  // Of one member; one spawn at a time.
  const std::shared_ptr<StreamSlots>& slots(std::size_t member) const { return slots_[member]; }
  // Has the first `helpers` members beside the caller do this, each told its own number. Does not wait for them. One
  // thread at a time may call it.
  void call(std::size_t helpers, const std::function<void(std::size_t member)>& job);

 private:
  boost::asio::any_io_executor executor_;
  std::array<std::shared_ptr<StreamSlots>, size> slots_;
  std::array<std::unique_ptr<DiskThread>, size - 1> helpers_;
};

}  // namespace launch
