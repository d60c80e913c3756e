// The basic terms of a job, as types: who is in a job, which ranks a node has, how a worker ended. Ranks and local
// ranks count from 0, and ranks and world sizes are those of torchrun. No rules: core/job/ranks and core/c10d decide
// which rank a node gets, and core/agent what an end means.
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

// The result of a rendezvous: the nodes have found each other and the workers may start.
struct Round {
  Assignment assignment;
  std::optional<Endpoint> master;  // MASTER_ADDR and MASTER_PORT, if they are not those of the command line
  int restarts = 0;                // that the job has had, the same on every launch node
  bool can_restart = true;         // every node would restart together with this one
  bool may_leave = false;          // the others would go on if this node left
  // How long its store may have answered nothing before its workers must have ended, even if this node stalls then;
  // zero: no limit.
  Duration longest_silence{};
  Duration longest_stall{};  // of this node before the others may go on without it; zero: no limit
  std::int64_t number = 0;   // among the rounds of the job
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

// As in a shell: the exit code, or 128 + signal.
int exit_code(const ExitStatus& status);

// "exit code 7", "signal 11 (SIGSEGV)".
std::string to_text(const ExitStatus& status);

// What the signal that a worker died of says about the cause: "segmentation fault". Empty if it says nothing.
std::string_view cause_in_words(const ExitStatus& status);

// "SIGTERM"; "signal 40" if the number has no name.
std::string signal_name(int signal);

// The number of "SIGTERM" or "TERM".
std::optional<int> signal_number(std::string_view name);

}  // namespace launch
