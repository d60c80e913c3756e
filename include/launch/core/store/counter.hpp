// Counters in a store, which are texts: what number one holds, and the sum that it holds next. Every kind of store uses
// them (store_table, etcd_operation, file_records), each with its own rules for what may stand around the number. Sums
// wrap around, as in PyTorch's TCPStore. Pure; nothing throws, and nothing is stored here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace launch {

// The digits that a text begins with, after a minus perhaps; nullopt: there are none, or the number is too large.
std::optional<std::int64_t> leading_number(std::string_view text);

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b);

}  // namespace launch
