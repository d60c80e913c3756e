// One line of a host file, in any dialect: "n1 slots=4 port=2222", "n1:8 binding=user:0", "n1 8 all.q UNDEFINED", "n1",
// "^n[3-4]". Used by host_file, which knows what repeated lines mean; what other launchers do is written there. Pure.
// An error is one sentence without the number of the line (usage).
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/hosts/host_word.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

enum class HostCount {
  none,
  written,  // n1:8, n1:*, slots=8, count=8, cpu=8
  queued,   // SGE: the second word of the line; a host has a line for each queue
};

struct HostLine {
  bool away = false;  // ^: the names are taken away
  HostWord word;
  std::optional<int> port;
  HostCount count = HostCount::none;
  bool deepspeed = false;            // NAME slots=N, and nothing else
  std::vector<std::string> ignored;  // settings of other launchers that the user may have wanted
};

// Nothing if the line is blank or a comment.
Result<std::optional<HostLine>> parse_host_line(std::string_view text);

}  // namespace launch
