#include "launch/core/logs/log_plan.hpp"

#include <algorithm>

namespace launch {
namespace {

struct StreamChoice {
  bool redirected;
  bool teed;
  bool muted;  // by the filter of local ranks
  bool through_launch;
};

StreamPlan plan_stream(const StreamChoice& choice, const std::string& file) {
  StreamPlan plan;
  if (choice.redirected || choice.teed) {
    plan.file = file;
    plan.shown = choice.teed && !choice.muted;
    plan.sink = plan.shown || choice.through_launch ? StreamPlan::Sink::relay : StreamPlan::Sink::file;
  } else if (choice.muted) {
    plan.sink = StreamPlan::Sink::nowhere;
  }
  return plan;
}

LogChoice::Streams of_rank(const std::vector<LogChoice::Streams>& map, int local_rank) {
  const auto index = static_cast<std::size_t>(local_rank);
  return index < map.size() ? map[index] : LogChoice::Streams{};
}

}  // namespace

bool keeps_streams(const LogChoice& choice) {
  const auto any = [](const LogChoice::Streams& streams) { return streams.out || streams.err; };
  return std::any_of(choice.redirects.begin(), choice.redirects.end(), any) ||
         std::any_of(choice.tees.begin(), choice.tees.end(), any);
}

std::vector<WorkerLogs> plan_logs(const LogChoice& choice, const std::string& folder, int nproc) {
  std::vector<WorkerLogs> plans;
  for (int local_rank = 0; local_rank < nproc; ++local_rank) {
    WorkerLogs plan;
    if (!folder.empty()) {
      const LogChoice::Streams redirect = of_rank(choice.redirects, local_rank);
      const LogChoice::Streams tee = of_rank(choice.tees, local_rank);
      const bool muted = !choice.shown.empty() && !choice.shown.contains(local_rank);
      const std::string own = folder + "/" + std::to_string(local_rank);
      plan.out = plan_stream({redirect.out, tee.out, muted, choice.through_launch}, own + "/stdout.log");
      plan.err = plan_stream({redirect.err, tee.err, muted, choice.through_launch}, own + "/stderr.log");
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace launch
