#include "launch/core/session/excuse.hpp"

#include <utility>

namespace launch {

Talk<bool> Excuse::unless_excused(Talk<void> telling) {
  waits_ = true;
  excused_ = false;
  telling_.start(run(std::move(telling)));
  while (waits_) {
    auto known = known_.rung(never);
    co_await known;
  }
  co_return !excused_;
}

Talk<void> Excuse::run(Talk<void> telling) {
  co_await std::move(telling);
  waits_ = false;
  known_.ring();
}

bool Excuse::excuse() {
  if (!std::exchange(waits_, false)) return false;
  excused_ = true;
  telling_.give_up();
  known_.ring();
  return true;
}

}  // namespace launch
