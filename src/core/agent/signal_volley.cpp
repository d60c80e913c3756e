#include "launch/core/agent/signal_volley.hpp"

#include <algorithm>
#include <chrono>

namespace launch {
namespace {

// A wrapper written in Python may take a while to pass a signal on. A user waits about as long before pressing a key
// again.
constexpr Duration longest_gap = std::chrono::seconds(1);

}  // namespace

bool SignalVolley::is_new(int signal, SignalWay way, Time now) {
  auto& [by_way, last] = heard_[signal];
  if (now > later(last, longest_gap)) by_way = {};
  last = now;
  const std::size_t before = *std::max_element(by_way.begin(), by_way.end());
  return ++by_way.at(static_cast<std::size_t>(way)) > before;
}

}  // namespace launch
