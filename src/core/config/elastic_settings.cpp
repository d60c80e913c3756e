#include "launch/core/config/elastic_settings.hpp"

#include <fmt/format.h>

namespace launch {

std::string to_text(const NodeLimits& limits) {
  return limits.min == limits.max ? fmt::to_string(limits.max) : fmt::format("{}:{}", limits.min, limits.max);
}

}  // namespace launch
