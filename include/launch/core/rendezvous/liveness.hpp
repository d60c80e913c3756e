// How the nodes of a job and the host of their store know that the other side is alive, and after how long a silence
// each takes the other for dead. The rule: a node has given up the host, and its workers are gone, before the host
// gives up the node. So two halves of a network that was cut never both run. The rule holds however often a node beats
// and the host looks: that decides only how soon a loss is noticed, and how much work that is. All numbers and both
// sides are here; io/store_server and io/store_client carry them out, and so does the simulator. Nothing here knows a
// clock.
#pragma once

#include "launch/core/base/time.hpp"

namespace launch {

struct Heartbeat {
  Duration interval;  // between two beats of a node
  Duration patience;  // how long a node waits for the answer, and for the network to take what it sends
  Duration silence;   // how long a node may be silent before the host gives it up
  Duration grace;     // how long workers may run once their node has lost patience; over before the host gives it up
};

// Whom a node must hear from while its workers run: the host of the store, or, through it, a majority of the nodes
// (core/c10d/quorum).
enum class Allegiance {
  host,
  majority
};

// Follows from --heartbeat-timeout and the number of nodes, so that the host has time for its work. All zero if
// `timeout` is zero: then silence is not a failure.
Heartbeat plan_heartbeat(Duration timeout, int nodes, Allegiance to = Allegiance::host);

// How long a node's agent may stall before its workers are ended: they must be gone when the others can give up the
// node. Zero if `timeout` is zero.
Duration longest_stall(Duration timeout, int nodes);

// How long after a node has sent what was answered last its workers must have ended if a majority decides, even if the
// node has been cut off first and then stalls: its guard sees to that, a little later than the node itself would.
Duration longest_unanswered(Duration timeout, int nodes);

// The lease of a host that serves a majority, and the time after which others may do without it. They count from the
// same messages, so no clock is compared: the host has sent them, and a node of the majority has received them.
struct LeasePlan {
  Duration answers;  // how old the latest such messages to a majority may be when the host answers a node
  Duration others;   // how long after the last message of the host a node may go on without it; workers of a node that
                     // was answered by the rule above have ended by then, even if it was answered at the last moment
};

// All zero if `timeout` is zero.
LeasePlan plan_lease(Duration timeout, int nodes);

// When the host's process has ended, and the other nodes look for the next one (core/c10d/succession): how long workers
// of a node may run once it has seen that end, unless they have a new round before; and how long a new host waits for
// nodes that do not come. They have seen the end, or have lost patience with the host, and their workers have ended by
// then. Zero if `timeout` is zero: workers may run for ever.
Duration grace_after_host(Duration timeout);
// The same for a node that may have stood still meanwhile. `since_answer`: how long ago it sent what the host has
// answered last. The end of the host may be as old as that, and the others may go on at the end of their wait; a node
// that is later still has no more time than one that has lost a host which is only silent.
Duration grace_after_host(Duration timeout, int nodes, Duration since_answer);
// The same if the nodes serve a majority: then nobody waits longer for a host that has ended than for a silent one.
Duration grace_under_lease(Duration timeout, int nodes, Duration since_answer);
// How long workers may run once a node has lost a host that may live. A node that has stood still sees that late: what
// is left of the time until the host may give the node up, but enough to tell the workers to exit.
Duration grace_in_doubt(const Heartbeat& plan, Duration since_answer);
Duration wait_after_host(Duration timeout, int nodes);

// The host's side: looks at all nodes at intervals, and finds those from which nothing was heard for too long.
class SilenceWatch {
 public:
  // Of one node. The code that hears from the node sets `heard`.
  struct Signs {
    bool heard = true;  // since the last look
    Time since{};       // nothing has been heard since then, to the nearest look
  };

  // Zero: no node ever counts as silent, and there is nothing to look at.
  void set_limit(Duration limit) { limit_ = limit; }
  Duration limit() const { return limit_; }

  // When to look next.
  Time plan_look(Time now);
  // The moment of a look has come: after this call the caller asks is_silent() for all nodes.
  void look(Time now);
  // A host that has overslept the look starts to count again: it must first read what the nodes said meanwhile.
  bool is_silent(Signs& signs) const;

 private:
  Duration limit_{};
  Time planned_ = never;
  Time look_{};
  bool overslept_ = false;
};

// A node's side, while it waits for the store to answer: when to beat, and when the host is taken for dead. All times
// count from when this node sent the last message that the host has answered, however late the answer came: the host
// has heard of this node since then.
class Beats {
 public:
  enum class Act {
    beat,    // ask the host for a sign of life
    wait,    // this node itself was asleep: it must first read what the host said meanwhile
    silent,  // the host has said nothing for too long
  };

  void set(Duration interval, Duration patience, Time now);
  bool on() const { return interval_ > Duration::zero(); }
  Duration patience() const { return patience_; }

  // When to call at(), which says what to do, if nothing has come until then.
  Time due() const { return unanswered_ ? answer_by() : next_; }
  Act at(Time now);
  // By when the store must answer another request that is sent now.
  Time answer_due(Time now) const;
  // A beat was answered, or a request that was sent at `asked`.
  void answered();
  void answered(Time asked);
  bool unanswered() const { return unanswered_; }
  // When the last message that the host has answered was sent: it lived then.
  Time lived_at() const { return lived_at_; }
  // Something has arrived, or a wait begins.
  void heard() { excused_ = false; }

 private:
  Time answer_by() const { return later(heard_of_, interval_ + patience_); }
  bool has_slept(Time now) const { return now > later(answer_by(), interval_); }
  Duration excuse() const;

  Duration interval_{}, patience_{};
  Time lived_at_{};
  Time heard_of_{};  // the same; later if this node itself was asleep
  Time sent_{};      // when the last beat was sent
  Time next_{};
  bool unanswered_ = false;
  bool excused_ = false;
};

}  // namespace launch
