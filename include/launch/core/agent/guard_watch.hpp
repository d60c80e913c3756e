// Decides when the guard of an agent that does not respond must act: kill its workers, or kill everything.
//
// The other nodes give up an agent whose loop stalls, and go on without it, so its workers must have ended before that.
// And a user who has told a job to stop three times must not depend on an agent that is stuck. The guard looks only
// when the agent's sign of life would be too old. It trusts what it sees only after it has itself been awake for a
// while, since a machine that slept wakes both.
#pragma once

#include "launch/core/agent/signal_volley.hpp"
#include "launch/core/base/time.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace launch {

// What the agent shows its guard.
struct AgentSign {
  Time turned{};            // when its loop last ran
  Duration patience{};      // how long it may stall; zero: nobody waits for it
  std::uint32_t heard = 0;  // the number of the last signal that was passed on when the agent last took one
};

class GuardWatch {
 public:
  enum class Act {
    nothing,
    end_workers,  // again and again until workers_ended(), since they may be starting others
    end_all,      // the agent too
  };

  // A signal that must end the job was passed on to the agent as number `number`.
  void handed_on(int signal, SignalWay way, std::uint32_t number, Time now);

  Act look(const AgentSign& sign, Time now);
  // No worker is left, or nothing more can be done. This holds until the loop runs again.
  void workers_ended() { ended_ = true; }

  // When to look again, unless something happens earlier.
  Time deadline() const;

 private:
  bool is_refused(const AgentSign& sign, Time now);
  bool stands_still(const AgentSign& sign, Time now);

  // Signals.
  SignalVolley volley_;
  std::vector<std::uint32_t> ends_;  // numbers of the signals that must end the job
  std::optional<Time> give_up_;      // when to act, if the agent has not taken the last ones by then
  bool excused_ = false;             // the guard itself slept beyond that

  // The sign.
  Time turned_{};  // as last seen
  Time next_look_ = never;
  int looks_ = 0;   // how often it looked at a sign that is too old
  int timely_ = 0;  // how many of these looks were on time
  bool suspects_ = false;
  bool ended_ = false;
};

}  // namespace launch
