// The standard input of `launch --hosts`: which nodes get it (--stdin), and when more of it may be read. Used by
// core/hosts/head. A node says how much of it its launch has taken, and nothing more is read while most_untaken bytes
// are on their way to one of them: the slowest sets the pace. Sizes are bytes. Pure; it never reads anything, and what
// a node says about more than it was sent counts for nothing.
#pragma once

#include "launch/core/hosts/head_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace launch {

constexpr std::size_t most_untaken = std::size_t{256} << 10;

class InputWindow {
 public:
  // `workers`: of each node, by its rank, as each has said. A rank that no node has gets nobody the input.
  InputWindow(const HeadInput& input, const std::vector<int>& workers);
  InputWindow() = default;

  bool gets(int node) const;
  const std::vector<int>& readers() const { return readers_; }

  // So much was sent to each of the readers; 0: the end of the input.
  void sent(std::size_t size);
  void taken(int node, std::int64_t size);

  // More may be read. `runs`: whether a node still runs; of the others nothing is waited for.
  bool wants_more(const std::function<bool(int node)>& runs) const;

 private:
  std::vector<int> readers_;  // ascending
  std::vector<std::size_t> untaken_;
  bool ended_ = false;
};

}  // namespace launch
