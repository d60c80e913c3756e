#include "launch/core/config/restart_rules.hpp"

namespace launch {

bool EndSet::contains(const Failure& failure) const {
  if (failure.kind == Failure::Kind::start) return start;
  return codes.contains(failure.exit_code);
}

}  // namespace launch
