#include "launch/io/life_sign.hpp"

#include <new>

#include <sys/mman.h>

namespace launch {

LifeSign* LifeSign::make() {
  void* const shared = ::mmap(nullptr, sizeof(LifeSign), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? nullptr : new (shared) LifeSign();
}

void LifeSign::turn(Time now, Duration patience) {
  turned_.store(now.time_since_epoch().count());
  patience_.store(patience.count());
}

void LifeSign::tell_stall(Duration stall) {
  stalled_.store(true);
  stall_.store(stall.count());
}

// Read in the opposite order of writing, so that an old time is never taken with a new patience.
AgentSign LifeSign::read() const {
  AgentSign sign;
  sign.patience = Duration(patience_.load());
  sign.turned = Time(Duration(turned_.load()));
  sign.heard = heard_.load();
  return sign;
}

std::optional<int> LifeSign::end() const {
  const int code = end_.load();
  if (code < 0) return std::nullopt;
  return code;
}

}  // namespace launch
