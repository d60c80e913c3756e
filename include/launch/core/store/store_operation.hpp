// What an agent asks of the store, as values: one Operation, one Outcome. Machines in core use these; io/store_client
// carries them out over TCP, tests and the simulator on a StoreTable.
//
// Keys are literal: a leading '/' is part of the key (PyTorch's clients put one before every key except "init/").
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/store/will.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace launch {

using KeyList = std::vector<std::string>;

// clang-format off
struct SetKeys {  // → Done
  std::vector<std::pair<std::string, std::string>> entries;
  Duration lasts{};  // for which an etcd keeps them; zero: as it does otherwise. Other stores keep them
};
struct CompareSet {  // → Values: the one value afterwards
  std::string key, expected, desired;
  Duration lasts{};  // as above
};
struct AddNumber { std::string key; std::int64_t amount = 0; };  // → Number: the sum
struct GetKeys { KeyList keys; };                                // → Values; an empty one if missing
struct CheckKeys { KeyList keys; };                              // → Presence, key by key
struct AwaitKeys { KeyList keys; };  // → Done when all exist, WaitExpired when the deadline came first
struct Attend { std::string key, text; };  // → Told when there is news, or WaitExpired; see AttendRequest
struct ListKeys {};                  // → Values: the names of all keys
struct DeleteKeys { KeyList keys; }; // → Number: how many there were
struct LeaveWill { Will will; };  // → Done; an empty one takes it back
// clang-format on

using Operation = std::variant<SetKeys, CompareSet, AddNumber, GetKeys, CheckKeys, AwaitKeys, Attend, ListKeys,
                               DeleteKeys, LeaveWill>;

// Whether it may wait for others without limit, so that it must be cancelled at its deadline.
bool waits(const Operation& operation);

// clang-format off
struct Done {};
struct Number { std::int64_t value = 0; };
struct Values { std::vector<std::string> values; };
struct Presence { std::vector<bool> present; };
struct WaitExpired {};
struct Told { std::string text; };
// clang-format on

using Outcome = std::variant<Done, Number, Values, Presence, WaitExpired, Told>;

// Appends the bytes of the operation's request.
void encode_operation(const Operation& operation, std::string& out);

// The values of a reply that have arrived: so a long reply in many pieces is read once, not once per piece.
struct PartialReply {
  std::size_t read = 0;  // bytes of the values
  std::vector<std::string> values;
};

// Reads the reply from the front of `bytes`: nullopt while it is incomplete, otherwise the outcome and `used`, its
// length. The next call gets the same bytes and more, and the same `part`.
Result<std::optional<Outcome>> decode_outcome(const Operation& operation, std::string_view bytes, std::size_t& used,
                                              PartialReply& part);
// For a reply that is expected to be complete at once.
Result<std::optional<Outcome>> decode_outcome(const Operation& operation, std::string_view bytes, std::size_t& used);

}  // namespace launch
