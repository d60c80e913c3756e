// What a launch agent says to the Membership that another one hosts, and what it is answered, as JSON: the payload of
// ATTEND and its answer (docs/store_protocol.md). Bytes from outside: bounded, and nothing is believed unchecked. Any
// bytes may come; what cannot be read is an error, never a guess.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"

#include <string>
#include <string_view>

namespace launch {

struct Attendance {
  enum class Wish {
    join,   // into a round later than `round`; answered when it has formed, or never will
    stay,   // in `round`; answered when it breaks up
    look,   // how many are in; answered at once
    leave,  // without closing; answered at once, and done when the connection ends
    close,  // for good, for everybody; answered at once
  };
  Wish wish = Wish::join;
  NodeDesc node;
  Member member;         // role and number of workers
  NodeLimits nodes;      // --nnodes
  Duration last_call{};  // that a round with the minimum waits for more
  Duration silence{};    // after which a torchrun agent that writes no heartbeat is dead
  std::int64_t round = -1;
  bool admits = true;    // nodes that come may break up the round
  std::string reason{};  // to leave, for the others
  CommonSettings common{};
  bool done = false;  // its workers have ended well: its loss is none to the round
  int restarts = 0;   // of the job, as far as it knows: a store that took another's place knows of none

  bool operator==(const Attendance&) const = default;
};

std::string to_json(const Attendance& attendance);
Result<Attendance> parse_attendance(std::string_view json);

// Why it cannot be in a job with this --nnodes and these settings; nullopt: it can.
std::optional<Error> find_contradiction(const Attendance& said, const NodeLimits& nodes, const CommonSettings& common);

// The answer: RoundFormed, RoundBroken, RoundWaits, RoundRefused or RendezvousEnded.
std::string to_json(const ElasticNews& news);
Result<ElasticNews> parse_news(std::string_view json);

}  // namespace launch
