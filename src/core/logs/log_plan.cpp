#include "launch/core/logs/log_plan.hpp"

#include <algorithm>

namespace launch {
namespace {

struct StreamChoice {
  bool redirected;
  bool teed;
  bool muted;  // by the filter of local ranks
  bool through_launch;
  bool tapped;
  StreamPlan::Sink tap;
};

StreamPlan plan_stream(const StreamChoice& choice, const std::string& file) {
  using Sink = StreamPlan::Sink;
  if (choice.redirected || choice.teed) {
    // One that is muted may be shown later (launch-ctl filter).
    return {choice.teed || choice.through_launch ? Sink::relay : Sink::file, file, choice.teed};
  }
  if (choice.tapped) return {choice.tap, "", !choice.muted};
  return {choice.muted ? Sink::nowhere : Sink::console, "", false};
}

LogChoice::Streams of_rank(const std::vector<LogChoice::Streams>& map, int local_rank) {
  const auto index = static_cast<std::size_t>(local_rank);
  return index < map.size() ? map[index] : LogChoice::Streams{};
}

bool of_any(const std::vector<LogChoice::Streams>& map) {
  return std::any_of(map.begin(), map.end(),
                     [](const LogChoice::Streams& streams) { return streams.out || streams.err; });
}

}  // namespace

bool hides_streams(const LogChoice& choice) { return of_any(choice.redirects); }

bool shows_streams(const LogChoice& choice) { return of_any(choice.tees); }

bool keeps_streams(const LogChoice& choice) { return hides_streams(choice) || shows_streams(choice); }

std::vector<WorkerLogs> plan_logs(const LogChoice& choice, const std::string& folder, int nproc) {
  using Sink = StreamPlan::Sink;
  std::vector<WorkerLogs> plans;
  for (int local_rank = 0; local_rank < nproc; ++local_rank) {
    WorkerLogs plan;
    if (folder.empty()) {
      plan.out = plan_stream({false, false, false, false, choice.taps_out, Sink::tap_out}, "");
      plan.err = plan_stream({false, false, false, false, choice.taps_err, Sink::tap}, "");
    } else {
      const LogChoice::Streams redirect = of_rank(choice.redirects, local_rank);
      const LogChoice::Streams tee = of_rank(choice.tees, local_rank);
      const bool muted = !choice.shown.empty() && !choice.shown.contains(local_rank);
      const std::string own = folder + "/" + std::to_string(local_rank);
      plan.out = plan_stream({redirect.out, tee.out, muted, choice.through_launch, choice.taps_out, Sink::tap_out},
                             own + "/stdout.log");
      plan.err = plan_stream({redirect.err, tee.err, muted, choice.through_launch, choice.taps_err, Sink::tap},
                             own + "/stderr.log");
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace launch
