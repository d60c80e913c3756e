#include "launch/core/c10d/elastic_machine.hpp"

#include <algorithm>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration most_backoff = 200ms;

}  // namespace

std::optional<Duration> LostWrites::pause() {
  if (in_row_ <= 1) return std::nullopt;
  const Duration most = std::min<Duration>(1ms * (1 << std::min(in_row_, 10)), most_backoff);
  in_row_ = 1;
  return random_.between(Duration(1), most);
}

ElasticMachine::~ElasticMachine() = default;

}  // namespace launch
