#include "launch/core/metrics/store_tally.hpp"

namespace launch {
namespace {

constexpr std::array<std::string_view, StoreTally::kinds> request_names = {
    "validate",  "set",          "compare_set", "get",       "add",       "check",       "wait", "count_keys",
    "watch_key", "delete_key",   "append",      "multi_get", "multi_set", "cancel_wait", "ping", "queue_push",
    "queue_pop", "queue_length", "list_keys",   "barrier",   "attend",    "leave_will"};

}  // namespace

std::string_view request_name(std::size_t kind) { return request_names.at(kind); }

}  // namespace launch
