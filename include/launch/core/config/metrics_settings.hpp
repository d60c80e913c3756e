// Where the metrics of this node are served and written: --metrics and --metrics-file. Called only by settle(). Errors
// have code usage and say what to write instead. It opens no port and no file.
// It resolves no name.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/endpoint.hpp"

#include <optional>
#include <string>

namespace launch {

struct Config;
struct HostFacts;
struct Options;

struct MetricsChoice {
  std::optional<Endpoint> listen{};  // an address of this host, or localhost; port 0: a free one
  std::string file{};                // empty: none

  bool wanted() const { return listen || !file.empty(); }
};

Status settle_metrics(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch
