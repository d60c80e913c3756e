#include "launch/core/cluster/cluster_start.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/allocation.hpp"
#include "launch/core/cluster/mpi_start.hpp"
#include "launch/core/cluster/platform_start.hpp"
#include "launch/core/cluster/slurm_step.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

struct Starter {
  std::string_view word;
  std::function<bool(const Environment& env)> speaks;  // it has left variables
  std::function<Result<ClusterView>(const Environment& env, const ProcessFacts& process, bool insists)> view;
};

// From the innermost outwards: mpirun is called in a Slurm step, and Slurm's nodes may be pods, but not the other way.
const std::vector<Starter>& starters() {
  static const std::vector<Starter> all = [] {
    std::vector<Starter> list;
    for (const std::string_view word : mpi_words())
      list.push_back(
          {word, [word](const Environment& env) { return speaks_of_mpi(word, env); },
           [word](const Environment& env, const ProcessFacts& process, bool) { return view_mpi(word, env, process); }});
    list.push_back({"slurm", speaks_of_slurm, [](const Environment& env, const ProcessFacts& process, bool) {
                      return view_slurm(env, process);
                    }});
    for (const std::string_view word : platform_words())
      list.push_back({word, [word](const Environment& env) { return speaks_of_platform(word, env); },
                      [word](const Environment& env, const ProcessFacts& process, bool insists) {
                        return view_platform(word, env, process, insists);
                      }});
    return list;
  }();
  return all;
}

// Whoever was started by launch or torchrun is not what the starter of that one started, and has all its variables.
bool is_below_worker(const Environment& env) { return env.get("TORCHELASTIC_RUN_ID") && env.get("LOCAL_RANK"); }

std::string line_about(const ClusterStart& start) {
  const std::string name = start_name(start);
  const std::string_view what = start.place ? "task" : "node";
  if (start.nodes.value == 0) return fmt::format("{}: this is {} {}", name, what, start.node_rank.value.value);
  return fmt::format("{}: {}, this is {} {}", name, counted(start.nodes.value, what), what,
                     start.node_rank.value.value);
}

// Adds what a kind further inside has not decided.
void merge(ClusterView& view, ClusterView&& other) {
  view.found.insert(view.found.end(), other.found.begin(), other.found.end());
  if (view.notice.empty()) view.notice = std::move(other.notice);
  view.start = std::move(other.start);
  if (view.start) view.found.push_back(line_about(*view.start));
}

}  // namespace

std::string start_name(const ClusterStart& start) {
  return start.id.empty() ? start.starter : fmt::format("{} {}", start.starter, start.id);
}

const std::vector<std::string_view>& cluster_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> all;
    for (const Starter& starter : starters()) all.push_back(starter.word);
    return all;
  }();
  return words;
}

ClusterView view_surroundings(const Environment& env, const ProcessFacts& process) {
  ClusterView view;
  view.in_pod = env.get("KUBERNETES_SERVICE_HOST").has_value();
  view.job_end = slurm_job_end(env, process);
  return view;
}

bool may_be_in_cluster(const Environment& env) {
  return speaks_of_allocation(env) ||
         std::any_of(starters().begin(), starters().end(), [&](const Starter& one) { return one.speaks(env); });
}

Result<ClusterView> view_cluster(const Environment& env, const ProcessFacts& process, std::string_view word) {
  ClusterView view = view_surroundings(env, process);
  for (const Starter& starter : starters()) {
    if (!starter.speaks(env)) continue;
    if (is_below_worker(env)) {
      view.found = {"a worker of another launch started this one, so what a scheduler says is not about it: one node"};
      return view;
    }
    if (!word.empty() && word != starter.word) {
      view.found.push_back(fmt::format("variables of {}, which --cluster leaves out", starter.word));
    } else if (view.start) {
      view.found.push_back(
          fmt::format("variables of {}, which are not asked: {} is nearer", starter.word, view.start->starter));
    } else {
      auto seen = starter.view(env, process, !word.empty());
      if (!seen) return seen.error();
      merge(view, *std::move(seen));
    }
  }
  if (!view.start && word.empty() && speaks_of_allocation(env) && !is_below_worker(env))
    merge(view, view_allocation(env, process));
  return view;
}

}  // namespace launch
