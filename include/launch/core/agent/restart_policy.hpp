// Decides whether workers that failed are restarted, and when. Pure; one per agent. It is asked once for each failure
// of this node's own workers, and told of each restart of the job, no matter whose workers failed. Used by Agent. It
// starts nothing and tells nobody.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/config/restart_rules.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <deque>
#include <optional>
#include <string>

namespace launch {

class RestartPolicy {
 public:
  explicit RestartPolicy(RestartRules rules) : rules_(std::move(rules)) {}

  // Writes into `failure` whether the job restarts after it, and if not, why. `lived`: how long the workers of `round`
  // ran. Counts no restart: the store may have got another node's failure first.
  void judge(Failure& failure, const Round& round, Duration lived, Time now);
  // Why `failure` ends the job; nullopt: it does not. `restarts`: how many the job has had.
  std::optional<std::string> refuses(const Failure& failure, int restarts, Duration lived, Time now);

  // The job restarts now, for the `restarts`-th time. Returns the count as text: "restart 1 of 3", or, if only those
  // within the window count, "restart 5 (1 of 3 within 10 min)".
  std::string restarted(int restarts, Time now);

  // Why the job ends because nodes joined or left while workers ran; nullopt: it does not. Counts this change.
  std::optional<std::string> refuses_change();
  // The next change would not end the job.
  bool admits_change() const;

  // How long to wait until the next start: zero at first, and growing if workers keep failing soon after they start.
  Duration pause(Duration lived);

 private:
  bool repeats(const Failure& failure, Duration lived);
  bool has_window() const { return rules_.window > Duration::zero(); }
  int within_window(Time now);

  RestartRules rules_;
  std::deque<Time> restarts_;  // of the job, within the window
  std::string last_error_;
  Duration last_lived_{};
  int same_errors_ = 0;     // in a row
  int quick_failures_ = 0;  // in a row
  int changes_ = 0;         // of the membership
};

}  // namespace launch
