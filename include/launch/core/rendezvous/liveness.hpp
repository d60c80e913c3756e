// How the nodes of a job and the host of their store know of each other that they live, and after what silence either
// side takes the other for dead. The rule: a node has given the host up, and its workers are gone, before the host
// gives up the node, so two halves of a network that was cut never both run. All numbers and both sides stand here;
// io/store_server and io/store_client carry them out, and the simulator does the same. Nothing here knows a clock.
#pragma once

#include "launch/core/base/time.hpp"

namespace launch {

struct Heartbeat {
  Duration interval;  // between two beats of a node
  Duration patience;  // of a node for the answer, and for the network to take what it sends
  Duration silence;   // of a node, that the host bears
  Duration grace;     // of a node's workers, once it has lost patience: before the host loses it
};

// From --heartbeat-timeout and the number of nodes, so that the host has time for its work. All zero if `timeout` is:
// then silence is no failure.
Heartbeat plan_heartbeat(Duration timeout, int nodes);

// How long a node's agent may stand still before its workers are ended: when the others can give it up, they are gone.
// Zero if `timeout` is.
Duration longest_stall(Duration timeout, int nodes);

// The host's side: looks at all nodes again and again, and finds those of which nothing has been heard for too long.
class SilenceWatch {
 public:
  // Of one node. Whoever hears of it sets `heard`.
  struct Signs {
    bool heard = true;  // since the last look
    Time since{};       // nothing has been, to the nearest look
  };

  // Zero: nobody is ever silent, and there is nothing to look at.
  void set_limit(Duration limit) { limit_ = limit; }
  Duration limit() const { return limit_; }

  // When to look next.
  Time plan_look(Time now);
  // The moment of a look has come: is_silent() is asked of all nodes.
  void look(Time now);
  // A host that has overslept the look starts to count again: what the nodes said is still to be read.
  bool is_silent(Signs& signs) const;

 private:
  Duration limit_{};
  Time planned_ = never;
  Time look_{};
  bool overslept_ = false;
};

// A node's side, while it waits for the store to answer: when to beat, and when the host is taken for dead. The host
// has heard of this node when the last thing was sent that it has answered, however late the answer came; all counts
// from there.
class Beats {
 public:
  enum class Act {
    beat,    // ask the host for a sign of life
    wait,    // this node has slept itself: what the host said meanwhile is still to be read
    silent,  // the host has said nothing for too long
  };

  void set(Duration interval, Duration patience, Time now);
  bool on() const { return interval_ > Duration::zero(); }
  Duration patience() const { return patience_; }

  // When something is to be done, if nothing has come until then: at(), which says what.
  Time due() const { return unanswered_ ? answer_by() : next_; }
  Act at(Time now);
  // By when the store must answer something else that is asked now.
  Time answer_due(Time now) const;
  // A beat was answered, or something that was asked at `asked`.
  void answered();
  void answered(Time asked);
  bool unanswered() const { return unanswered_; }
  // Something has come, or a wait begins.
  void heard() { excused_ = false; }

 private:
  Time answer_by() const { return later(heard_of_, interval_ + patience_); }
  bool has_slept(Time now) const { return now > later(answer_by(), interval_); }

  Duration interval_{}, patience_{};
  Time heard_of_{};  // this node, by the host
  Time sent_{};      // the last beat
  Time next_{};
  bool unanswered_ = false;
  bool excused_ = false;
};

}  // namespace launch
