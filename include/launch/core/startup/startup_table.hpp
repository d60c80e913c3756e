// How the ranks of a job have started: when each was executed, wrote something, connected to the store and made its
// first step, on one axis of seconds that begins with the first exec. It is made of what the nodes say of their workers
// and of the processes that the store has seen. Pure. A connection that may be of several workers is nobody's: a time
// that is not known is absent, and never that of another rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// Ages are seconds before the moment at which all nodes were asked. What is not known is absent.
struct StartupWorker {
  int rank = 0;
  std::vector<int> pids;  // its own and those of its descendants
  std::optional<double> started_age_s, output_age_s, step_age_s;
};

struct StartupNode {
  int rank = 0;
  std::string host;
  std::vector<std::string> addresses;  // of its interfaces, but for loopback
  std::vector<StartupWorker> workers;
};

// A process that has connected to the store.
struct StartupClient {
  std::string address;
  bool here = false;  // it is on the host of the store
  std::uint32_t pid = 0;
  double age_s = 0;
};

struct StartupFacts {
  int world_size = 0;
  std::vector<StartupNode> nodes;      // that have answered
  std::optional<int> store_node;       // the rank of the node that has seen the clients
  std::vector<StartupClient> clients;  // in the order in which they connected
  std::size_t clients_left_out = 0;    // the store's node has seen more
};

// Seconds on the axis.
struct StartupRank {
  int rank = 0;
  int node = 0;
  std::optional<double> started, output, store, step;
};

struct StartupTable {
  int world_size = 0;
  std::map<int, std::string> hosts;  // by node rank
  std::vector<StartupRank> ranks;    // ascending; those of nodes that have not answered are missing
  std::optional<double> formed;      // when the last rank of the job joined; nullopt: it has not, or is not known
  double now = 0;                    // when the nodes were asked
  std::size_t unplaced = 0;          // clients of which it is not known whose they are
  std::size_t lacking = 0;           // ranks that must join before the group can have formed
  bool store_known = false;          // the node that serves the workers' store has answered
  std::size_t clients = 0, clients_left_out = 0;

  // A rank without a connection to the store has not joined.
  bool is_certain() const { return clients > 0 && unplaced == 0 && clients_left_out == 0; }
};

// The rank of each client, in their order; nullopt: it is not known.
std::vector<std::optional<int>> ranks_of_clients(const StartupFacts& facts);
StartupTable startup_table(const StartupFacts& facts);

// Where a picture of it ends: at the last moment that is known, and above 0.
double end_of(const StartupTable& table);
// Of those that have joined: when, in the middle; nullopt: none has.
std::optional<double> median_arrival(const std::vector<StartupRank>& ranks);
// The last ones to join, the last of all first; at most `most`.
std::vector<StartupRank> slowest_ranks(const StartupTable& table, std::size_t most);
// Those that were not seen at the store, by rank.
std::vector<StartupRank> missing_ranks_of(const StartupTable& table);

// The ranks of one node.
struct StartupGroup {
  int node = 0;
  std::vector<StartupRank> ranks;  // ascending
  std::optional<double> median;    // of those that have joined
};
// Nodes with ranks that were not seen are first, then the slowest by its median.
std::vector<StartupGroup> groups_by_node(const StartupTable& table);

}  // namespace launch
