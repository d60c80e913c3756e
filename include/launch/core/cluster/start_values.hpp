// Reads the variables by which a starter tells about a start. Used by all that read one (slurm_step, mpi_start,
// platform_start). An error names the variable and what to do. Pure; a value that is missing or wrong is never guessed,
// and none of another starter is taken for it.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/cluster/cluster_start.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

constexpr int most_cluster_nodes = 100'000;

class StartValues {
 public:
  // `starter`: "a Slurm step". Both must outlive this object.
  StartValues(const Environment& env, std::string_view starter) : env_(env), starter_(starter) {}

  Result<std::string> text(std::string_view name) const;  // not empty
  Result<Said<int>> number(std::string_view name, int least, int most) const;
  Result<Said<int>> nodes(std::string_view name) const { return number(name, 1, most_cluster_nodes); }
  // From 0 on, below `nodes`.
  Result<Said<NodeRank>> rank(std::string_view name, int nodes) const;

 private:
  const Environment& env_;
  std::string_view starter_;
};

// Of the host's name: "n1" of "n1.cluster.org".
std::string_view first_label(std::string_view host);

// Ports for node 0 that nobody has given: above those that Linux gives to clients, and below the end.
constexpr std::uint16_t first_own_port = 61'000;
constexpr std::uint16_t own_port_count = 4'535;

// The one of them that all nodes of a start choose by themselves; rarely the same for two starts.
std::uint16_t port_by(std::string_view text);
// A row of such ports, for the case that others have the first.
std::vector<std::uint16_t> ports_by(std::string_view text);

}  // namespace launch
