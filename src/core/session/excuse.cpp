#include "launch/core/session/excuse.hpp"

#include <utility>

namespace launch {

Talk<void> Excuse::unless_excused(Talk<void> telling) {
  waits_ = true;
  telling_.start(run(std::move(telling)));
  while (waits_) {
    auto known = known_.rung(never);
    co_await known;
  }
}

Talk<void> Excuse::run(Talk<void> telling) {
  co_await std::move(telling);
  waits_ = false;
  known_.ring();
}

void Excuse::excuse() {
  if (!std::exchange(waits_, false)) return;
  telling_.give_up();
  known_.ring();
}

}  // namespace launch
