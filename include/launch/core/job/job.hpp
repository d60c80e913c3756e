// The words of the field, as values: who is in a job, which ranks a node has, how a worker ended. Ranks, world sizes
// and local ranks count from 0 as torchrun's do. No rules: which rank a node gets is decided in core/job/ranks and
// core/c10d, and what an end means in core/agent.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/rank.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

// One node of a job as it introduces itself.
struct Member {
  NodeRank group_rank{};  // position among the nodes; the node rank in a static rendezvous
  std::string role{};
  int local_world_size = 0;  // workers on this node

  bool operator==(const Member&) const = default;
};

// What one node needs to know to number its workers.
struct Assignment {
  NodeRank group_rank{};
  int group_world_size = 0;       // nodes
  GlobalRank base_global_rank{};  // RANK of this node's local rank 0
  int world_size = 0;             // workers of all nodes
  int base_role_rank = 0;
  int role_world_size = 0;

  bool operator==(const Assignment&) const = default;
};

// What a rendezvous comes to: the nodes have found each other and the workers may start.
struct Round {
  Assignment assignment;
  std::optional<Endpoint> master;  // MASTER_ADDR and MASTER_PORT, where they are not those of the command line
  int restarts = 0;                // that the job has had, the same on every launch node
  bool can_restart = true;         // every node would start anew with this one
  bool may_leave = false;          // the others would go on if this node left
  Duration longest_stall{};        // that others bear of this node before they may go on without it; zero: any
  std::int64_t number = 0;         // among the rounds of the job
};

// How a process ended. Decoded once, from the kernel's siginfo (io/child).
struct ExitStatus {
  enum class Kind {
    exited,    // value is the exit code, 0 to 255
    signalled  // value is the signal's number
  };
  Kind kind = Kind::exited;
  int value = 0;

  bool ok() const { return kind == Kind::exited && value == 0; }
  bool operator==(const ExitStatus&) const = default;
};

// As a shell has it: the exit code, or 128 + signal.
int exit_code(const ExitStatus& status);

// "exit code 7", "signal 11 (SIGSEGV)".
std::string to_text(const ExitStatus& status);

// What a signal that a worker died of says about the cause, for those that say something: "segmentation fault".
std::string_view cause_in_words(const ExitStatus& status);

// "SIGTERM"; "signal 40" where the number has no name.
std::string signal_name(int signal);

// The number of "SIGTERM" or "TERM".
std::optional<int> signal_number(std::string_view name);

}  // namespace launch
