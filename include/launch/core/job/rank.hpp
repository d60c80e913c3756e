// The three kinds of rank, each with a type of its own: a node among the nodes, a worker among those of its node, a
// worker among all of the job. Used wherever such a number is passed as a value; keys, JSON and texts have its `value`.
// One kind never becomes another, or a plain number, by accident: that does not compile. They count from 0.
#pragma once

#include <compare>
#include <cstddef>

namespace launch {

template <class Of>
struct RankOf {
  int value = 0;

  constexpr RankOf() = default;
  constexpr explicit RankOf(int number) : value(number) {}
  static constexpr RankOf none() { return RankOf(-1); }

  constexpr bool known() const { return value >= 0; }
  // The position in a list by rank. REQUIRES: known().
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  constexpr auto operator<=>(const RankOf&) const = default;
};

using NodeRank = RankOf<struct NodeOfJob>;      // GROUP_RANK
using LocalRank = RankOf<struct WorkerOfNode>;  // LOCAL_RANK
using GlobalRank = RankOf<struct WorkerOfJob>;  // RANK

// Which task of its machine a launch is, if a scheduler started several there, each for one worker.
struct TaskPlace {
  int local_task = 0;
  int local_tasks = 1;
  NodeRank node{};  // the machine; none(): not known
  int nodes = 0;    // machines; 0: not known
};

// `base`: the RANK of the node's local rank 0.
constexpr GlobalRank operator+(GlobalRank base, LocalRank local) { return GlobalRank(base.value + local.value); }

}  // namespace launch
