// Rendezvous of 2 to 8 nodes under faults, seed by seed. LAUNCH_SIM_SEED=N runs one seed and tells its story.
#include "agents.hpp"

#include "launch/core/rendezvous_pickle.hpp"
#include "launch/core/store_wire.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace launch::sim {
namespace {

using namespace std::chrono_literals;

struct Scenario {
  bool mixed = false;    // with torchrun nodes
  bool faults = true;    // crashes, and nodes that stand still
  bool pushes = true;    // the store is ours
  Duration offset = 0s;  // of clocks, at most
  bool hasty = false;    // workers fail as soon as they run
};

struct Run {
  std::uint64_t hash = 0;
  std::vector<std::string> faults;
  std::vector<std::string> story;
};

class Job {
 public:
  Job(std::uint64_t seed, const Scenario& scenario) : world_(seed), scenario_(scenario) {
    const int count = 2 + static_cast<int>(world_.random().next() % 7);
    limits_.max = count;
    limits_.min =
        world_.chance(0.5) ? count : 1 + static_cast<int>(world_.random().next() % static_cast<unsigned>(count));
    referee_.emplace(world_, limits_, scenario.mixed && scenario.faults);
    if (scenario.pushes) world_.table().preset(push_key, "1");
    for (int i = 0; i < count; ++i) add();
  }

  Run play() {
    const int troubles = 1 + static_cast<int>(world_.random().next() % 6);
    for (int i = 0; i < (scenario_.hasty ? 40 : troubles); ++i) {
      world_.run_until(world_.now() + world_.random().between(1ms, scenario_.hasty ? Duration(20ms) : Duration(20s)));
      trouble();
    }
    settle();
    finish();
    if (world_.busiest_second() > 600)
      referee_->fault(std::to_string(world_.busiest_second()) + " requests within a second");
    return {world_.hash(), referee_->faults(), world_.story()};
  }

 private:
  void add() {
    ElasticSettings settings;
    settings.run_id = "sim";
    settings.self = NodeDesc{"n" + std::to_string(agents_.size()), static_cast<int>(agents_.size()) + 100, 0};
    settings.nodes = limits_;
    settings.last_call_timeout = 3s;
    const Duration offset = scenario_.offset > 0s ? world_.random().between(-scenario_.offset, scenario_.offset) : 0s;
    const bool torchrun = scenario_.mixed && world_.chance(0.4);
    agents_.push_back(torchrun ? make_torchrun(world_, *referee_, settings, offset)
                               : make_ours(world_, *referee_, settings, offset));
    SimAgent* agent = agents_.back().get();
    world_.at(world_.now() + world_.random().between(1us, 2s), [agent] { agent->start(); });
  }

  std::vector<SimAgent*> alive() {
    std::vector<SimAgent*> result;
    for (const auto& agent : agents_)
      if (agent->alive() && !agent->refused()) result.push_back(agent.get());
    return result;
  }

  void trouble() {
    const auto candidates = alive();
    if (candidates.empty()) return;
    SimAgent& victim = *candidates[world_.random().next() % candidates.size()];
    if (!scenario_.faults || world_.chance(0.5)) return victim.fail_worker();
    if (world_.chance(0.5)) {
      // A torchrun agent that was thrown out while it stood still never notices.
      const Duration duration = world_.random().between(1s, is_launch(victim.self()) ? 40s : 9s);
      world_.note(to_text(victim.self()) + " stands still for " + to_text(duration));
      return victim.freeze(duration);
    }
    world_.note(to_text(victim.self()) + " crashes");
    victim.crash();
    add();  // in its place
  }

  // Faults have stopped: everybody must come together.
  void settle() {
    world_.run_until(world_.now() + 45s);  // nobody stands still any more
    for (int i = 0; i < 40 && !together(); ++i) world_.run_until(world_.now() + 5s);
    if (!together()) {
      const auto state = read_state(world_.table().get(state_key("sim")).value_or(""));
      std::string who = "round " + std::to_string(state->round) + (state->complete ? " complete" : "") + ":";
      for (const auto& [node, rank] : state->participants) who += " " + to_text(node);
      for (const auto& node : state->wait_list) who += " waits " + to_text(node);
      for (const auto& node : state->redundancy_list) who += " spare " + to_text(node);
      referee_->fault("the nodes do not come together: " + who);
    }
  }

  bool together() {
    std::set<std::optional<std::int64_t>> rounds;
    for (const SimAgent* agent : alive()) rounds.insert(agent->round());
    return rounds.size() == 1 && rounds.begin()->has_value();
  }

  void finish() {
    const auto nodes = alive();
    if (nodes.empty()) return;
    nodes.front()->close();
    world_.run_until(world_.now() + 10s);
    for (const SimAgent* agent : nodes)
      if (is_launch(agent->self()) && !agent->saw_closed())
        referee_->fault(to_text(agent->self()) + " does not hear of the end");
  }

  World world_;
  Scenario scenario_;
  NodeLimits limits_;
  std::optional<Referee> referee_;
  std::vector<std::unique_ptr<SimAgent>> agents_;
};

Run play(std::uint64_t seed, const Scenario& scenario) { return Job(seed, scenario).play(); }

// All seeds of a scenario, or the one that the user asks for.
std::uint64_t play_all(const Scenario& scenario, int seeds) {
  std::uint64_t all = 0;
  const char* wanted = std::getenv("LAUNCH_SIM_SEED");
  const std::uint64_t first = wanted == nullptr ? 1 : std::strtoull(wanted, nullptr, 10);
  const std::uint64_t last = wanted == nullptr ? static_cast<std::uint64_t>(seeds) : first;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Run run = play(seed, scenario);
    all = all * 31 + run.hash;
    if (run.faults.empty()) continue;
    std::string story;
    for (const std::string& line : run.story) story += line + "\n";
    ADD_FAILURE() << "LAUNCH_SIM_SEED=" << seed << ": " << run.faults.front() << "\n" << story;
    break;
  }
  return all;
}

constexpr Scenario ours{};
constexpr Scenario hasty{.faults = false, .hasty = true};
constexpr Scenario polled{.pushes = false};
constexpr Scenario day_apart{.offset = 24h};
constexpr Scenario mixed{.mixed = true, .faults = false};
constexpr Scenario mixed_faults{.mixed = true, .faults = true, .pushes = true, .offset = 500ms};

// Sanitizers make a run thirty times slower.
#if defined(__SANITIZE_ADDRESS__)
constexpr int seeds = 20;
#else
constexpr int seeds = 1000;
#endif

TEST(ElasticSim, LaunchNodesUnderFaults) { play_all(ours, seeds); }
TEST(ElasticSim, WithWorkersThatFailAtOnce) { play_all(hasty, seeds / 5); }
TEST(ElasticSim, OverAStoreThatDoesNotPush) { play_all(polled, seeds / 5); }
TEST(ElasticSim, WithClocksADayApart) { play_all(day_apart, seeds / 5); }
TEST(ElasticSim, WithTorchrunNodes) { play_all(mixed, seeds / 3); }
TEST(ElasticSim, WithTorchrunNodesUnderFaults) { play_all(mixed_faults, seeds / 3); }

// The same events at the same times, in every build.
TEST(ElasticSim, ASeedIsARun) {
  std::uint64_t all = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    all = all * 31 + play(seed, ours).hash;
    EXPECT_EQ(play(seed, ours).hash, play(seed, ours).hash);
  }
  std::uint64_t recorded = 0;
  std::ifstream(LAUNCH_TEST_DATA "/sim_hash.txt") >> recorded;
  EXPECT_EQ(all, recorded) << "after a wanted change, write this number to tests/data/sim_hash.txt";
}

}  // namespace
}  // namespace launch::sim
