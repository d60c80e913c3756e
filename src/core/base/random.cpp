#include "launch/core/base/random.hpp"

#include <fmt/format.h>

namespace launch {

// splitmix64 (Steele, Lea, Flood 2014): three lines, passes the usual batteries, any seed is good.
std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

Duration Random::between(Duration low, Duration high) {
  const auto span = static_cast<std::uint64_t>((high - low).count());
  return low + Duration(static_cast<Duration::rep>(next() % span));
}

std::string make_uuid(Random& random) {
  const std::uint64_t a = random.next();
  const std::uint64_t b = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU, a & 0xfffU,
                     ((b >> 48U) & 0x3fffU) | 0x8000U, b & 0xffffffffffffU);
}

}  // namespace launch
