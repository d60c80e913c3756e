// What a launch agent tells the Membership that another one hosts, and what that answers, as JSON: the payload of
// ATTEND and its answer (docs/store_protocol.md). The bytes come from outside: they are bounded, and everything is
// checked. Any bytes may come; what cannot be read is an error, never a guess.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace launch {

struct Attendance {
  enum class Wish {
    join,     // into a round later than `round`; answered when it has formed, or never will
    stay,     // in `round`; answered when it breaks up
    look,     // how many nodes are in; answered at once
    leave,    // without closing; answered at once, and done when the connection ends
    close,    // for good, for everybody; answered at once
    tell,     // it is in no job here, and tells where the job lives; answered at once
    witness,  // only `node` counts, which attends on another connection; answered if it does not, else never
    where,    // it is in no job, and looks for this one; answered at once: `waits`, it is here; `moved`, it is there;
              // `ended`, this store, which is open, has no such job. A closed one that knows nothing ends the link
  };
  Wish wish = Wish::join;
  NodeDesc node;
  Member member;         // role and number of workers
  NodeLimits nodes{};    // --nnodes
  Duration last_call{};  // how long a round with the minimum waits for more nodes
  Duration silence{};    // how long without a heartbeat until a torchrun agent is dead
  std::int64_t round = -1;
  bool admits = true;    // nodes that join may break up the round
  std::string reason{};  // why it leaves, for the others
  CommonSettings common{};
  bool done = false;   // its workers have ended well: its loss does not break up the round
  int restarts = 0;    // of the job, as far as it knows: a store that replaced another one knows of none
  StoreDoor door{};    // where it would host the store if the host ended; of the host: its store has this name
  bool hosts = false;  // the store
  std::optional<Comeback> comeback{};  // the host of its last store has ended, and it has been in no round since
  std::optional<MovedJob> moved{};     // what `tell` tells
  bool anew = false;                   // it has left another store of the job since it was in a round
  Duration lease{};                    // with --quorum=majority: LeasePlan::answers; zero: without

  bool operator==(const Attendance&) const = default;
};

// Of one that does not attend: what it must have, and no more.
Attendance visit(Attendance::Wish wish, NodeDesc node);

std::string to_json(const Attendance& attendance);
Result<Attendance> parse_attendance(std::string_view json);

// Why this node cannot be in a job with this --nnodes and these settings; nullopt: it can.
std::optional<Error> find_contradiction(const Attendance& said, const NodeLimits& nodes, const CommonSettings& common);

// Two agents use the same name.
Error name_taken(const NodeDesc& node);

// The answer: RoundFormed, RoundBroken, RoundWaits, RoundRefused or RendezvousEnded.
std::string to_json(const ElasticNews& news);
Result<ElasticNews> parse_news(std::string_view json);

}  // namespace launch
