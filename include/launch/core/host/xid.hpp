// What NVIDIA's driver reports about a GPU in the kernel's log: an Xid, which is the number of a kind of error, with
// the GPU and mostly the process. io/driver_log reads the log; the note of a failed worker tells of it. Pure; the log
// may hold any bytes, since workers choose their own names. Times are those of the kernel's log.
#pragma once

#include "launch/core/base/time.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace launch {

struct Xid {
  int number = 0;
  std::string gpu;  // its PCI address: "0000:3b:00.0"
  pid_t pid = 0;    // 0: the driver does not know it
  Time at{};

  bool operator==(const Xid&) const = default;
};

// Those in records of /dev/kmsg, oldest first; what is something else is left out.
std::vector<Xid> parse_xids(std::string_view records);

// What the number means, in a few words; empty if it is not one of the well-known ones.
std::string_view meaning_of_xid(int number);

// Who ended, and when by the clock of the kernel's log.
struct XidReader {
  int rank = 0;
  pid_t pid = 0;
  Time ended{};
};

// What to tell of them about that worker; empty if there is none. The one that names the worker's own process comes
// first, then the oldest; one that only says that work was removed (45) does not come before another.
std::string xid_note(const std::vector<Xid>& xids, const XidReader& reader);

}  // namespace launch
