// Carries out Operations on a StoreTable as a client would over the wire, for tests of machines without sockets.
#pragma once

#include "launch/core/store/store_operation.hpp"
#include "launch/core/store/store_table.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class StoreDriver {
 public:
  // nullopt: the operation waits for keys that are not there.
  std::optional<Outcome> perform(const Operation& operation) {
    if (const auto* wait = std::get_if<AwaitKeys>(&operation)) return ready(wait->keys);
    std::string bytes;
    encode(ValidateRequest{validate_magic}, bytes);
    encode_operation(operation, bytes);
    RequestReader reader;
    std::copy(bytes.begin(), bytes.end(), reader.prepare(bytes.size()));
    reader.commit(bytes.size());
    std::string reply;
    std::vector<Push> pushes;
    for (auto request = reader.next(); request && request->has_value(); request = reader.next())
      if (!table_.apply(1, **request, reply, pushes)) return std::nullopt;
    std::size_t used = 0;
    return *decode_outcome(operation, reply, used);
  }

  bool has(const std::string& key) const { return table_.get(key).has_value(); }
  std::string get(const std::string& key) const { return std::string(table_.get(key).value_or("")); }

 private:
  std::optional<Outcome> ready(const KeyList& keys) const {
    const bool all = std::all_of(keys.begin(), keys.end(), [this](const std::string& key) { return has(key); });
    return all ? std::optional<Outcome>(Done{}) : std::nullopt;
  }

  StoreTable table_;
};

}  // namespace launch
