// What the head of `launch --hosts` is to do, settled before anything is started (config/hosts_settings makes it), and
// what each node is told of it: the question whether it could start, and the command line of its launch. Used by
// core/hosts/head. Pure.
#pragma once

#include "launch/core/hosts/host_check.hpp"
#include "launch/core/hosts/host_messages.hpp"
#include "launch/core/hosts/host_silence.hpp"
#include "launch/core/hosts/host_tree.hpp"
#include "launch/core/job/endpoint.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launch {

struct HeadNode {
  std::string host;                    // as it is shown
  std::vector<std::string> options{};  // for this node alone
  std::vector<std::string> env{};
  int starter = started_by_head;  // the node whose host makes the connection to this one, if that can
  std::string logs{};             // as in NodeJob
};

// Nothing is started: the hosts are looked over (core/hosts/doctor).
struct CheckPlan {
  bool json = false;
  std::vector<CheckNeeds> needs;  // by node rank
};

// Which workers get the standard input of the head.
struct HeadInput {
  enum class Readers {
    none,
    one,  // the worker of `rank`
    each  // worker, a copy of its own
  };
  Readers readers = Readers::none;
  int rank = 0;
};

struct HeadPlan {
  std::vector<HeadNode> nodes;       // by node rank
  std::vector<std::string> options;  // of the ordinary launch, for all nodes
  std::vector<std::string> program;  // and its arguments
  std::vector<std::string> env;      // NAME=VALUE
  std::string folder;
  int umask = 022;
  std::string version;  // of this launch
  std::string run_id;
  std::string nnodes;  // as for --nnodes
  bool c10d = false;
  bool keeps_output = false;    // the remotes keep the workers' output in files of their own, so that it comes whole
  bool gathers_logs = false;    // the remotes send the files of the workers' output home
  bool may_copy = false;        // this program may be sent to hosts that have none, or another version
  bool folds = false;           // equal lines of workers are shown once; the nodes mark them (core/hosts/folded_output)
  HeadInput input{};            // it is a static job if anybody gets it
  bool sets_interface = false;  // each node says to NCCL and Gloo on which interface it meets the others
  std::uint16_t port = 0;       // of node 0; 0: any
  std::string network{};        // on which the nodes meet: an address with a mask, or an interface; empty: any
  int fanout = 64;              // connections that one host makes at the same time
  Duration silence = longest_host_silence;  // of a connection, after which it is lost
  int requeue_exit = 0;  // the exit code of a node whose job should be started again; 0: none says so
  std::optional<CheckPlan> check{};
};

// The command line of the ordinary launch on a node; `store`: where node 0 has its store.
std::vector<std::string> node_line(const HeadPlan& plan, int node, const Endpoint& store);

// What the port of a node says to whom connects to it, before the job: in a check each node has one of its own.
std::string token_of(const HeadPlan& plan, int node);

// Whether it could start.
NodeJob node_job(const HeadPlan& plan, int node);

}  // namespace launch
