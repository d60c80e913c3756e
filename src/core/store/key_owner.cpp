#include "launch/core/store/key_owner.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace launch {

KeyOwner owner_of(std::string_view key, const AgentKeys& agent_keys) {
  for (const std::string& beginning : agent_keys)
    if (key.starts_with(beginning)) return KeyOwner::agents;
  return key == client_count_key && !agent_keys.empty() ? KeyOwner::anybody : KeyOwner::workers;
}

KeyOwner owner_of(const Request& request, const AgentKeys& agent_keys) {
  KeyOwner owner = KeyOwner::agents;
  const auto look_at = [&](std::string_view key) { owner = std::max(owner, owner_of(key, agent_keys)); };
  std::visit(
      [&](const auto& known) {
        using Known = std::decay_t<decltype(known)>;
        if constexpr (std::is_same_v<Known, AttendRequest> || std::is_same_v<Known, LeaveWillRequest>) {
          return;  // only agents know them
        } else if constexpr (requires { known.key; }) {
          look_at(known.key);
        } else if constexpr (requires { known.keys; }) {
          for (const std::string_view key : known.keys) look_at(key);
        } else if constexpr (requires { known.entries; }) {
          for (const SetRequest& entry : known.entries) look_at(entry.key);
        }
      },
      request);
  return owner;
}

}  // namespace launch
