// Steps of workers in words: of one worker, and of all workers of a job, with those that are behind. Pure; used by the
// screens of launch-ctl and by events. Steps that are whole numbers are shown as such.
// It looks at no worker.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace launch {

// "1200", "0.25".
std::string number_text(double number);
// "9.9/s".
std::string rate_text(double rate);
// "step 1200, 9.9/s"; without a rate "step 1200".
std::string step_text(double step, std::optional<double> rate);

struct RankStep {
  int rank = 0;
  double step = 0;
  std::optional<double> rate{};   // steps per second
  std::optional<double> age_s{};  // since the step has changed
  double jump = 0;                // between the last two steps
};
// Nodes look at their workers at different moments: up to so many seconds apart.
inline constexpr double looks_apart_s = 1;
// "steps 1180 to 1200; behind: rank 7"; "" if they do not differ by more than the first ones made between these looks.
std::string spread_text(const std::vector<RankStep>& steps);

}  // namespace launch
