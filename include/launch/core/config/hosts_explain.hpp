// What `launch --hosts ... --explain` prints: how launch would be started on each host, which options and variables are
// for that host alone, and what all nodes get. Used by app/commands. Pure; nothing is started or looked up. So ports
// and addresses, which are found when the hosts have answered, are not in it. It never fails.
#pragma once

#include "launch/core/config/hosts_settings.hpp"

#include <string>

namespace launch {

// For people. Each command line, and each variable, is written as a shell reads it.
std::string hosts_text(const HostsPlan& plan);

// One JSON object for programs, with a final newline. Bytes that are not UTF-8 are replaced.
std::string hosts_json(const HostsPlan& plan);

}  // namespace launch
