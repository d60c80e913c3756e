// The talk of one rank with the server that its starter keeps for it, by the text protocol of PMI-1: how rank 0 tells
// all others where it can be reached. Hydra (MPICH, Intel MPI), Flux and Slurm's pmi2 serve it. One line is sent, one
// comes back, until done(). Pure: io/pmi_exchange has the socket and the deadline. Each rank of the start must take
// part, since the talk has a barrier. What the server says is bounded and checked; nothing of it is trusted.
//
// Source: what MPICH 4.0 and 5.0, Intel MPI 2021 and Slurm 22.05 answer, as recorded.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/cluster/cluster_start.hpp"
#include "launch/core/cluster/rank_map.hpp"
#include "launch/core/cluster/reach.hpp"
#include "launch/core/job/rank.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

class PmiTalk {
 public:
  static constexpr std::size_t longest_line = 16'384;

  // `own`: what rank 0 tells; nullopt: this is another rank.
  explicit PmiTalk(std::optional<Reach> own) : own_(std::move(own)) {}

  // The line to send next, with its end. REQUIRES: !done().
  std::string next() const;
  // The server's answer, without its end.
  Status take(std::string_view line);

  bool done() const { return step_ == Step::done; }
  // Once done.
  const std::string& id() const { return space_; }  // of the start
  const Reach& reach() const { return reach_; }
  const std::string& map() const { return map_; }  // which rank is on which node; empty: not told

 private:
  enum class Step {
    init,
    space,
    map,
    put,
    barrier,
    get,
    finalize,
    done
  };

  std::optional<Reach> own_;
  Step step_ = Step::init;
  std::string space_, map_;
  Reach reach_;
};

// Makes the launches of a start workers, if there are several on any node, and counts them node by node.
Status add_map(std::string_view map, ClusterStart& start);

// What was learned from such a server.
struct RankAnswer {
  std::string id;    // of the start
  std::string host;  // of rank 0, as it is reached from here
  std::uint16_t port = 0;
  std::string map;
};

// Completes a start, as far as its own variables have not told more. An error if they contradict each other, or if it
// was an error to ask; but ErrorCode::closed only means that there is no server that answers.
Status add_answer(const Result<RankAnswer>& answer, ClusterStart& start);

}  // namespace launch
