#include "launch/core/cluster/cluster_start.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/mpi_start.hpp"
#include "launch/core/cluster/platform_start.hpp"
#include "launch/core/cluster/slurm_step.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

std::string_view slurm_word(const Environment& env) { return speaks_of_slurm(env) ? "slurm" : ""; }

// One kind of starter: those of one kind exclude each other.
struct Kind {
  std::string_view (*word)(const Environment& env);  // of the one that has left variables; empty: none has
  Result<ClusterView> (*view)(const Environment& env, const ProcessFacts& process);
};

// From the innermost outwards: mpirun is called in a Slurm step, and Slurm's nodes may be pods, but not the other way.
constexpr std::array kinds{Kind{mpi_word, view_mpi}, Kind{slurm_word, view_slurm}, Kind{platform_word, view_platform}};

// Whoever was started by launch or torchrun is not what the starter of that one started, and has all its variables.
bool is_below_worker(const Environment& env) { return env.get("TORCHELASTIC_RUN_ID") && env.get("LOCAL_RANK"); }

std::string line_about(const ClusterStart& start) {
  const std::string name = start.id.empty() ? start.starter : fmt::format("{} {}", start.starter, start.id);
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

const std::vector<std::string_view>& cluster_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> all{"slurm"};
    all.insert(all.end(), mpi_words().begin(), mpi_words().end());
    all.insert(all.end(), platform_words().begin(), platform_words().end());
    return all;
  }();
  return words;
}

bool may_be_in_cluster(const Environment& env) {
  for (const Kind& kind : kinds)
    if (!kind.word(env).empty()) return true;
  return false;
}

Result<ClusterView> view_cluster(const Environment& env, const ProcessFacts& process, std::string_view word) {
  ClusterView view;
  for (const Kind& kind : kinds) {
    const std::string_view own = kind.word(env);
    if (own.empty()) continue;
    if (is_below_worker(env)) {
      view.found = {"a worker of another launch started this one, so what a scheduler says is not about it: one node"};
      return view;
    }
    if (!word.empty() && word != own) {
      view.found.push_back(fmt::format("variables of {}, which --cluster leaves out", own));
    } else if (view.start) {
      view.found.push_back(fmt::format("variables of {}, which are not asked: {} is nearer", own, view.start->starter));
    } else {
      auto seen = kind.view(env, process);
      if (!seen) return seen.error();
      merge(view, *std::move(seen));
    }
  }
  return view;
}

}  // namespace launch
