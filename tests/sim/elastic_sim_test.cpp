// Rendezvous under faults, seed by seed. LAUNCH_SIM_SEED=N runs one seed and tells its story; LAUNCH_SIM_SEEDS=N says
// how many seeds the largest scenario has.
#include "job.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace launch::sim::elastic_sim_test {

using namespace std::chrono_literals;

// All seeds of a scenario, or the one that the user asks for.
void play_all(const Scenario& scenario, int seeds) {
  const char* wanted = std::getenv("LAUNCH_SIM_SEED");
  const std::uint64_t first = wanted == nullptr ? 1 : std::strtoull(wanted, nullptr, 10);
  const std::uint64_t last = wanted == nullptr ? static_cast<std::uint64_t>(seeds) : first;
  Run worst;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Run run = Job(seed, scenario).play();
    worst.losses += run.losses;
    worst.worst_loss = std::max(worst.worst_loss, run.worst_loss);
    worst.worst_settle = std::max(worst.worst_settle, run.worst_settle);
    if (run.faults.empty()) continue;
    std::string story;
    for (const std::string& line : run.story) story += line + "\n";
    ADD_FAILURE() << "LAUNCH_SIM_SEED=" << seed << ": " << run.faults.front() << "\n" << story;
    break;
  }
  std::printf("together %s after the last fault at most", to_text(worst.worst_settle).c_str());
  if (worst.losses > 0) std::printf(", %s after one of %d losses", to_text(worst.worst_loss).c_str(), worst.losses);
  std::printf("\n");
}

constexpr Scenario ours{};
constexpr Scenario day_apart{.offset = 24h};
constexpr Scenario between_restarts{.admits = false};
constexpr Scenario hasty{.faults = false, .hasty = true};
constexpr Scenario polled{.hosted = false, .fewest = 2, .most = 8};
constexpr Scenario mixed{.mixed = true, .faults = false, .most = 12};
constexpr Scenario mixed_faults{.mixed = true, .offset = 500ms, .most = 12};
constexpr Scenario mixed_polled{.hosted = false, .mixed = true, .faults = false, .fewest = 2, .most = 8};
constexpr Scenario mixed_polled_faults{.hosted = false, .mixed = true, .offset = 500ms, .fewest = 2, .most = 8};

int wanted_seeds() {
  const char* wanted = std::getenv("LAUNCH_SIM_SEEDS");
  if (wanted != nullptr) return static_cast<int>(std::strtol(wanted, nullptr, 10));
#if defined(__SANITIZE_ADDRESS__)
  return 100;  // sanitizers make a run thirty times slower
#else
  return 2000;
#endif
}

const int seeds = wanted_seeds();

TEST(ElasticSim, LaunchNodesUnderFaults) { play_all(ours, seeds); }
TEST(ElasticSim, WithClocksADayApart) { play_all(day_apart, seeds / 10); }
TEST(ElasticSim, WithNewcomersThatWait) { play_all(between_restarts, seeds / 4); }
TEST(ElasticSim, WithWorkersThatFailAtOnce) { play_all(hasty, seeds / 10); }
TEST(ElasticSim, WithTorchrunNodes) { play_all(mixed, seeds / 10); }
TEST(ElasticSim, WithTorchrunNodesUnderFaults) { play_all(mixed_faults, seeds / 4); }
TEST(ElasticSim, OverTorchrunsStore) { play_all(polled, seeds / 10); }
TEST(ElasticSim, OverTorchrunsStoreWithItsNodes) { play_all(mixed_polled, seeds / 10); }
TEST(ElasticSim, OverTorchrunsStoreWithItsNodesUnderFaults) { play_all(mixed_polled_faults, seeds / 10); }

// The same events at the same times, in every build.
TEST(ElasticSim, ASeedIsARun) {
  std::uint64_t all = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    all = all * 31 + Job(seed, ours).play().hash;
    EXPECT_EQ(Job(seed, ours).play().hash, Job(seed, ours).play().hash);
  }
  std::uint64_t recorded = 0;
  std::ifstream(LAUNCH_TEST_DATA "/sim_hash.txt") >> recorded;
  EXPECT_EQ(all, recorded) << "after a wanted change, write this number to tests/data/sim_hash.txt";
}

}  // namespace launch::sim::elastic_sim_test
