// Learns from the starter's PMI server where rank 0 can be reached, and tells it if this is rank 0. Blocks, before
// anything is started: commands calls it once, only if the starter has such a server (core/cluster/pmi_talk) and the
// user has not said where rank 0 is. Afterwards the server is told that we are done, and the descriptor is closed: what
// launch starts later speaks to nobody by it.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/cluster/pmi_talk.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace launch {

struct RankQuestion {
  int descriptor = -1;            // the socket that PMI_FD names; closed at the end
  bool first = false;             // this is rank 0
  int ranks = 1;                  // of the start
  std::string hostname;           // of this host
  std::uint16_t port = 0;         // that rank 0 will listen on; 0: any that is free
  Duration limit{};               // all ranks must have come until then
  std::function<void()> on_wait;  // is called once if that takes long
};

// ErrorCode::closed: the server has closed. In each task it may be asked once, so a second launch there finds none, and
// after a program of MPI there is none either.
Result<RankAnswer> exchange_by_pmi(const RankQuestion& question);

}  // namespace launch
