// Seeded random numbers. Core never makes its own seed: io supplies one, a test a fixed one. The same seed gives the
// same numbers on every machine, so a test that failed can be repeated. Not for secrets. Never shared between threads.
// Every owner has a generator of its own, with a seed of its own.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstdint>
#include <string>

namespace launch {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();

  // Uniform in [low, high). REQUIRES: low < high.
  Duration between(Duration low, Duration high);

 private:
  std::uint64_t state_;
};

// A version-4 UUID in its usual 36-character text.
std::string make_uuid(Random& random);

}  // namespace launch
