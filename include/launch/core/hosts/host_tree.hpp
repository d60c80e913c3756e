// Who starts whom when `launch --hosts` names more hosts than one machine can log in to quickly: the head starts the
// first hosts, and each of those starts some of the others, through which their bytes go. The head starts a host itself
// if that host's parent cannot. Pure.
#pragma once

#include <vector>

namespace launch {

constexpr int started_by_head = -1;

// For each of so many hosts the one that starts it. Up to four times `fanout` the head starts all; otherwise about the
// square root of their number, and not less than `fanout`.
std::vector<int> starters_of(int hosts, int fanout);

}  // namespace launch
