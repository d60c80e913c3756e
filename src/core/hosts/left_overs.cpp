#include "launch/core/hosts/left_overs.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace launch {
namespace {

constexpr std::size_t most_steps_up = 1024;  // what is read while it changes may be a circle

// Those that take over the children of a process that has ended.
constexpr std::array adopters{"systemd",         "init",       "tini",   "dumb-init",
                              "docker-init",     "catatonit",  "conmon", "s6-svscan",
                              "containerd-shim", "slurmstepd", "runit"};

class ProcessTree {
 public:
  explicit ProcessTree(const std::vector<SeenProcess>& all) {
    for (const SeenProcess& one : all) by_pid_.emplace(one.pid, &one);
  }

  const SeenProcess* find(int pid) const {
    const auto at = by_pid_.find(pid);
    return at == by_pid_.end() ? nullptr : at->second;
  }

  std::unordered_set<int> with_ancestors(int pid) const {
    std::unordered_set<int> pids{pid};
    const SeenProcess* one = find(pid);
    while (one != nullptr && pids.size() < most_steps_up && pids.insert(one->parent).second) one = find(one->parent);
    return pids;
  }

 private:
  std::unordered_map<int, const SeenProcess*> by_pid_;
};

bool starts_workers(const SeenProcess& one) {
  const auto says = [&](std::string_view word) { return one.command.find(word) != std::string::npos; };
  return one.name.starts_with("launch") || says("torchrun") || says("torch.distributed");
}

bool is_adopter(const SeenProcess& one) {
  return one.pid == 1 || std::any_of(adopters.begin(), adopters.end(),
                                     [&](std::string_view name) { return one.name.starts_with(name); });
}

// It was not started by the process that is its parent now.
bool is_orphan(const SeenProcess* parent) {
  return parent == nullptr || (is_adopter(*parent) && !starts_workers(*parent));
}

}  // namespace

std::vector<SurveyedProcess> left_overs(const std::vector<SeenProcess>& all, int own_pid) {
  const ProcessTree tree(all);
  const auto ours = tree.with_ancestors(own_pid);
  std::vector<SurveyedProcess> found;
  for (const SeenProcess& one : all) {
    if (!one.mine || ours.contains(one.pid)) continue;
    const SeenProcess* parent = tree.find(one.parent);
    const bool first = parent == nullptr || parent->run_id != one.run_id;
    const bool orphan = !one.run_id.empty() && first && is_orphan(parent);
    if (orphan || one.on_gpu) found.push_back({one.pid, one.command, one.run_id, orphan, one.on_gpu});
  }
  return found;
}

}  // namespace launch
