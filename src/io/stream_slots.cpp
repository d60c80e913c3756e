#include "launch/io/stream_slots.hpp"

#include <algorithm>
#include <cstddef>

#include <fcntl.h>
#include <unistd.h>

namespace launch {

StreamSlots::StreamSlots() : nothing_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
  for (Fd& slot : slots_) slot = Fd(::fcntl(nothing_.get(), F_DUPFD_CLOEXEC, 3));
  if (std::any_of(slots_.begin(), slots_.end(), [](const Fd& slot) { return !slot.valid(); })) give_up();
}

bool StreamSlots::fill(const std::array<int, 3>& streams) {
  if (end() == 0) return false;
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i] >= 0 && ::dup3(streams[i], slot(i), O_CLOEXEC) < 0) {
      clear();
      return false;
    }
  return true;
}

void StreamSlots::clear() {
  for (const Fd& slot : slots_)
    if (slot.valid()) ::dup3(nothing_.get(), slot.get(), O_CLOEXEC);
}

void StreamSlots::give_up() {
  for (Fd& slot : slots_) slot.reset();
}

unsigned StreamSlots::end() const {
  int last = -1;
  for (const Fd& slot : slots_) last = std::max(last, slot.get());
  return static_cast<unsigned>(last + 1);
}

}  // namespace launch
