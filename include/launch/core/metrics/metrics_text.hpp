// Metrics as text for Prometheus: the classic form (0.0.4), which node exporter's text files have, too, or OpenMetrics
// 1.0. The table of families is the one list of what there is: the documents and the board are held against it. Label
// values are escaped, and bytes that are not UTF-8 are replaced. Pure; nothing is counted here.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/metrics/metrics.hpp"
#include "launch/core/metrics/store_tally.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

enum class MetricsForm {
  classic,
  open_metrics
};

enum class FamilyType {
  gauge,
  counter,
  histogram,
  info
};

struct MetricFamily {
  std::string_view name;  // without _total or _info, as OpenMetrics names a family
  FamilyType type;
  std::string_view unit;  // empty: it has none
  std::string_view help;
};

// All that there may be, in the order in which they are written.
std::span<const MetricFamily> metric_families();

// What is only read when somebody asks.
struct Readings {
  // The output of all workers on one stream.
  struct Output {
    bool passes = false;  // through launch; otherwise nothing of it is known
    std::uint64_t lines = 0, bytes = 0, lost = 0;
  };
  // Of a running worker whose output passes through launch.
  struct Silence {
    GlobalRank rank{};
    LocalRank local_rank{};
    Duration since_output{};
  };

  // Of a worker whose step --progress has found.
  struct Step {
    GlobalRank rank{};
    LocalRank local_rank{};
    double step = 0;
    std::optional<double> rate{};  // per second
  };

  Duration up{};                     // since launch was started
  double started_at = 0;             // seconds since 1970
  std::uint64_t resident_bytes = 0;  // of launch itself
  std::array<Output, 2> outputs{};   // stdout, stderr
  std::vector<Silence> silences{};
  std::vector<Step> steps{};
  bool watches_hangs = false;
  const StoreTally* store = nullptr;  // null: nothing is known of a store
};

std::string metrics_text(const Metrics& metrics, const Readings& readings, MetricsForm form);

// As the value of a label is written between its quotes.
std::string escaped_label(std::string_view value);

}  // namespace launch
