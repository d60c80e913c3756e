// What chance decides in a simulated job, kept as a list: which node fails, when, for how long. A list that ends in a
// failure can be played again, and made shorter as long as it still fails. What is left is the shortest story of the
// fault. play_seeds() does so for a test: LAUNCH_SIM_SEED=N plays one seed and tells its story, with the choices that
// LAUNCH_SIM_CHOICES lists. What the network does follows from the seed alone.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace launch::sim {

class Choices {
 public:
  using List = std::vector<std::uint64_t>;

  explicit Choices(std::uint64_t seed) : by_chance_(true), dice_(seed ^ 0x9e3779b97f4a7c15ULL) {}
  // Gives these choices one after the other, and after them always the first and the least.
  explicit Choices(List given) : given_(std::move(given)), dice_(0) {}

  bool odds(double probability);
  std::size_t below(std::size_t end);
  // In [low, high).
  Duration between(Duration low, Duration high);

  const List& made() const { return made_; }

 private:
  // The next choice that is given, limited by `end`.
  std::uint64_t given(std::uint64_t end);
  std::uint64_t keep(std::uint64_t choice);

  bool by_chance_ = false;
  List given_;
  Random dice_;
  List made_;
};

struct Played {
  std::vector<std::string> faults;
  std::string story;
};

using PlaySeed = std::function<Played(std::uint64_t seed, Choices& choices)>;

// The shortest list that is found and still fails, within `tries` tries.
Choices::List shorten(Choices::List choices, const std::function<bool(Choices::List)>& fails, int tries);

// Plays this many seeds, from 1 or LAUNCH_SIM_FIRST on, or the one that the user asks for. The first that fails is
// shortened and told, and fails the test.
void play_seeds(std::uint64_t seeds, const PlaySeed& play);

// LAUNCH_SIM_SEEDS, or else `usual`.
std::uint64_t wanted_seeds(std::uint64_t usual);

}  // namespace launch::sim
