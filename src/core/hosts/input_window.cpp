#include "launch/core/hosts/input_window.hpp"

#include <algorithm>
#include <numeric>

namespace launch {
namespace {

// Of a static job, whose ranks are those of the nodes in their order. As many as there are nodes: no node has it.
std::size_t node_of(int rank, const std::vector<int>& workers) {
  std::size_t node = 0;
  for (std::int64_t before = 0; node < workers.size(); ++node) {
    before += workers[node];
    if (rank < before) break;
  }
  return node;
}

}  // namespace

InputWindow::InputWindow(const HeadInput& input, const std::vector<int>& workers) {
  if (input.readers == HeadInput::Readers::each) {
    readers_.resize(workers.size());
    std::iota(readers_.begin(), readers_.end(), 0);
  } else if (input.readers == HeadInput::Readers::one) {
    const std::size_t node = node_of(input.rank, workers);
    if (node < workers.size()) readers_.push_back(static_cast<int>(node));
  }
  untaken_.resize(readers_.size());
}

bool InputWindow::gets(int node) const { return std::binary_search(readers_.begin(), readers_.end(), node); }

void InputWindow::sent(std::size_t size) {
  ended_ = ended_ || size == 0;
  for (std::size_t& one : untaken_) one += size;
}

void InputWindow::taken(int node, std::int64_t size) {
  const auto known = std::lower_bound(readers_.begin(), readers_.end(), node);
  if (known == readers_.end() || *known != node || size < 0) return;
  std::size_t& untaken = untaken_[static_cast<std::size_t>(known - readers_.begin())];
  untaken -= std::min(untaken, static_cast<std::size_t>(size));
}

bool InputWindow::wants_more(const std::function<bool(int node)>& runs) const {
  bool any = false;
  for (std::size_t i = 0; i < readers_.size() && !ended_; ++i) {
    if (!runs(readers_[i])) continue;
    if (untaken_[i] >= most_untaken) return false;
    any = true;
  }
  return any;
}

}  // namespace launch
