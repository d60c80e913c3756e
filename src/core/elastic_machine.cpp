#include "launch/core/elastic_machine.hpp"

#include <fmt/format.h>

namespace launch {

std::string state_key(const std::string& run_id) { return "/torch.rendezvous." + run_id; }

std::string round_prefix(const std::string& run_id, std::int64_t round) {
  return fmt::format("torch.rendezvous.{}.{}", run_id, round);
}

}  // namespace launch
