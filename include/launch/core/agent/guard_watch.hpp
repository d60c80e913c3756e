// When the guard of an agent that does not answer has to act: end its workers, or end everything.
//
// An agent whose loop stands still is given up by the other nodes, which go on without it, so its workers must have
// ended before that. And a user who has told a job to stop three times must not depend on an agent that is stuck. The
// guard looks only when the agent's sign would be too old; it believes what it sees after it has itself been awake for
// a while, since a machine that slept wakes both.
#pragma once

#include "launch/core/agent/signal_volley.hpp"
#include "launch/core/base/time.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace launch {

// What the agent shows its guard.
struct AgentSign {
  Time turned{};           // when its loop turned last
  Duration patience{};     // how long it may stand still; zero: nobody waits for it
  std::uint32_t heard = 0;  // the number of the last signal that the guard had handed on when the agent took one
};

class GuardWatch {
 public:
  enum class Act {
    nothing,
    end_workers,  // again and again until workers_ended(), since they may be making others
    end_all,      // the agent too
  };

  // A signal that is to end the job was handed on to the agent as number `number`.
  void handed_on(int signal, SignalWay way, std::uint32_t number, Time now);

  Act look(const AgentSign& sign, Time now);
  // None is left, or nothing more can be done; until the loop turns again.
  void workers_ended() { ended_ = true; }

  // When to look again, unless something happens before.
  Time deadline() const;

 private:
  bool is_refused(const AgentSign& sign, Time now);
  bool stands_still(const AgentSign& sign, Time now);

  // Signals.
  SignalVolley volley_;
  std::vector<std::uint32_t> ends_;  // numbers of those that were meant to end the job
  std::optional<Time> give_up_;      // if none of the last ones has been heard by then
  bool excused_ = false;             // the guard slept beyond that

  // The sign.
  Time turned_{};          // as it was seen last
  Time next_look_ = never;
  int looks_ = 0;          // at a sign that is too old
  int timely_ = 0;         // of these, not long after they were due
  bool suspects_ = false;
  bool ended_ = false;
};

}  // namespace launch
