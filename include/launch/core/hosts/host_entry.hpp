// The hosts of a job, as --hosts names them: "n[1-8]", "me@n1:4,n2:*", "[fd00::2]:4", "n[1-8] ^n3", "a,b,c+1". A host
// file and --include make the same entries; the head starts one connection for each. Pure: no name is looked up, and
// that two names are one machine is not seen here. An error is one sentence without line breaks (usage), in front of
// which the caller writes the option.
#pragma once

#include "launch/core/base/error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct HostEntry {
  std::string user;            // empty: as ssh knows it
  std::string name;            // as ssh gets it: an IPv6 address without brackets
  std::optional<int> port;     // of ssh
  std::optional<int> workers;  // nullopt: as --nproc-per-node says
  std::vector<int> devices;    // the local devices chosen by --include or --exclude, ascending; empty: all
  bool spare = false;          // stands by until a host is lost

  bool operator==(const HostEntry&) const = default;
};

// Words of host_word.hpp between commas or white space. In front of a word: "+" makes its hosts spares, "^" takes away
// hosts that were named before. "+N" at the end makes the last N hosts of the list spares. In their order; at least one
// is not a spare, none is there twice, at most 65,536 are named, those that are taken away included.
Result<std::vector<HostEntry>> parse_hosts(std::string_view text);

}  // namespace launch
