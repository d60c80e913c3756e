// Whether the whole job hangs: the node of rank 0 asks it about what each node says of itself. A job hangs if every
// node has been quiet for the time-out; if steps are known, only the nodes that know some count. A node that cannot say
// how long it has been quiet may be at work, so then the job does not hang. Pure; time is a parameter.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/progress/hang_watch.hpp"

#include <optional>
#include <vector>

namespace launch {

struct NodeQuiet {
  int node = 0;
  std::optional<Quiet> quiet;  // nullopt: it cannot say
};

class HangJudge {
 public:
  // `steps`: workers write their steps, on this node or on others.
  HangJudge(Duration timeout, bool steps) : timeout_(timeout), steps_(steps) {}

  // Workers are about to be started.
  void begin(Time now);
  // Whether the other nodes must be asked now.
  bool must_ask(const Quiet& own, Time now) const;

  struct Opinion {
    std::optional<Duration> hangs{};  // since when; nullopt: the job does not hang, or that was told already
    std::vector<int> unknown{};       // nodes that cannot say
    bool by_steps = false;            // steps alone count
  };
  Opinion judge(const std::vector<NodeQuiet>& nodes, Time now);
  // The user has been told that the job hangs: no more is said until something happens.
  void told(Time now) { told_ = now; }

 private:
  Duration timeout_;
  bool steps_;
  Time next_{};
  std::optional<Time> told_;
};

}  // namespace launch
