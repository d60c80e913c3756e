// What a store has done, for the metrics of the node that hosts it: requests by kind, and how long the store took for
// each. The time of a request is that of applying it; a wait for a key that is not there yet does not count. Written by
// io/store_server on its loop; it decides nothing.
#pragma once

#include "launch/core/metrics/histogram.hpp"
#include "launch/core/store/store_wire.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace launch {

struct StoreTally {
  static constexpr std::size_t kinds = std::variant_size_v<Request>;

  std::array<std::uint64_t, kinds> requests{};  // by the index of Request
  Histogram took{1e-06, 5e-06, 1e-05, 5e-05, 1e-04, 5e-04, 1e-03, 1e-02, 1e-01};

  void count(std::size_t kind, Duration duration) {
    ++requests.at(kind);
    took.observe(duration);
  }
};

// "compare_set", the name of a kind of request by the index of Request.
std::string_view request_name(std::size_t kind);

}  // namespace launch
