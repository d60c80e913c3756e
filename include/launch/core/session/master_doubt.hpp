// A node of a static job that meets nobody for two seconds doubts the address of node 0, and says so: hosts that were
// swapped or a wrong name would otherwise show only when the rendezvous times out. Started by static_session. It only
// warns: the job goes on waiting, since an address may be translated on its way, or node 0 may be slow.
#pragma once

#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/session/stage.hpp"
#include "launch/core/session/talk.hpp"

#include <functional>
#include <optional>
#include <string>

namespace launch {

struct MasterDoubt {
  Endpoint store;        // as the user named it
  std::string own_name;  // of this host
  NodeRank node_rank{};
};

// `met`: whether the address has led to node 0 meanwhile.
Talk<void> doubt_master(Stage& stage, MasterDoubt doubt, std::function<bool()> met);

// The warning; none if nothing seems wrong.
std::optional<std::string> why_doubt(const MasterDoubt& doubt, const Whereabouts& found);

}  // namespace launch
