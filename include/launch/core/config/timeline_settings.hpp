// Where the start of the workers is written as a picture (--timeline), and that their output passes launch for it.
// Called only by settle(), after the logs. Errors have code usage and say what to write instead. It opens no file, and
// does not look whether there is one.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>

namespace launch {

struct Config;
struct HostFacts;
struct Options;

struct TimelineChoice {
  std::string html{};  // a page; empty: none
  std::string json{};  // a trace; empty: none

  bool wanted() const { return !html.empty() || !json.empty(); }
};

// REQUIRES: the logs are settled.
Status settle_timeline(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch
