#include "launch/core/options/foreign_names.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace launch {
namespace {

struct Foreign {
  std::array<std::string_view, 8> names;
  std::string_view hint;
};

constexpr Foreign foreign[] = {
    {{"-n", "-np", "-ppn", "--nprocs", "--num-processes", "--ntasks-per-node", "--num-gpus", "--ngpus"},
     "for the number of workers on each node give --nproc-per-node"},
    {{"-N", "--nodes", "--num-nodes", "--num-machines"}, "for the number of nodes give --nnodes"},
    {{"--ntasks"}, "give the number of nodes by --nnodes, and of workers on each by --nproc-per-node"},
    {{"--machine-rank", "--nodeid"}, "for the number of this node, counted from 0, give --node-rank"},
    {{"--main-process-ip"}, "for the address of node 0 give --master-addr"},
    {{"--main-process-port"}, "for the port of node 0 give --master-port"},
    {{"-H", "-f", "--host", "--hostlist", "-machinefile", "-hostfile"},
     "to start the job on all of its hosts from here give --hosts LIST or --hostfile FILE"},
    {{"--dry-run", "--dryrun"}, "give --explain, which starts nothing"},
    {{"-V"}, "give --version"},
};

}  // namespace

std::optional<std::string_view> hint_for_foreign(std::string_view name) {
  std::string bare(name);
  std::replace(bare.begin(), bare.end(), '_', '-');
  for (const auto& [names, hint] : foreign)
    if (!bare.empty() && std::find(names.begin(), names.end(), bare) != names.end()) return hint;
  return std::nullopt;
}

}  // namespace launch
