// Several hosts in --rdzv-endpoint, any of which may host the store of a c10d job: "n0,n1,n2:29400" (one port for all)
// or "n0:29400,n1:29500,[::1]:29400" (each its own). Called by config/store_settings; resolves nothing. An error says
// what is wrong with the text and what would be right; it does not name the option, which only the caller knows.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/endpoint.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

inline constexpr std::size_t most_endpoints = 8;

// Whether the text names several hosts, right or wrong.
bool is_endpoint_list(std::string_view text);

// Either each host has a port, or the last one, which all have then; or none, and all have `default_port`.
Result<std::vector<Endpoint>> parse_endpoint_list(std::string_view text, std::uint16_t default_port);

// "n0:29400, n1:29400".
std::string to_text(const std::vector<Endpoint>& endpoints);

}  // namespace launch
