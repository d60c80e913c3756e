// How the others know one agent of a c10d rendezvous. The names and fields are torchrun's, so that a job may have
// agents of both kinds; rendezvous_pickle knows what they are on the wire. No address is looked up: two names of one
// host count as two.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace launch {

// One agent, for as long as its process lives. Sorted as torchrun sorts: address, pid, local_id.
struct NodeDesc {
  std::string addr;
  std::int64_t pid = 0;
  std::int64_t local_id = 0;

  auto operator<=>(const NodeDesc&) const = default;
};

// torchrun counts its local_ids from 0. Every launch agent has this one, so that the others know it as a launch agent.
inline constexpr std::int64_t launch_local_id = 0x6c61756e;

inline bool is_launch(const NodeDesc& node) { return node.local_id == launch_local_id; }

// "n1 (pid 42)"
std::string to_text(const NodeDesc& node);

}  // namespace launch
