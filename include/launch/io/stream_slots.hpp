// Three descriptors with low numbers, through which the workers of one thread in turn get their input
// and output (io/spawn).
//
// Whoever executes a program first closes all files that it has open. launch has several for each worker, so starting N
// of them would close N times N. A worker that needs nothing above these numbers leaves all else behind in one step.
// To be made early, when few files are open. If that is not possible, there are none, and all works without.
#pragma once

#include "launch/io/fd.hpp"

#include <array>

namespace launch {

class StreamSlots {
 public:
  StreamSlots();

  // Puts copies of these descriptors into the slots; a negative one stays out. False if there are no slots.
  bool fill(const std::array<int, 3>& streams);
  // Lets go of them.
  void clear();
  // From now on there are none.
  void give_up();

  // The slot of the i-th stream.
  int slot(std::size_t i) const { return slots_[i].get(); }
  // The first number above all slots; 0 if there are none.
  unsigned end() const;

 private:
  std::array<Fd, 3> slots_;
  Fd nothing_;  // what is in an empty slot
};

}  // namespace launch
