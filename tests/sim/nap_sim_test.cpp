// Whole jobs of which one node stands still for a moment after any of its actions, or cannot be reached for a moment.
// Both disturb nobody.
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace launch::nap_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::NodeHost;
using play::Plan;

constexpr Duration heartbeat = 5s;
constexpr std::size_t nodes = 3;

struct Moment {
  bool elastic;
  Hosting hosting;
  std::size_t victim;
  Duration lasting;
  bool cut = false;  // not paused, but cut off
};

void disturb(WholeJob& job, const Moment& moment) {
  if (!moment.cut) return job.freeze(moment.victim, moment.lasting);
  const std::string host = job.node(moment.victim).host();
  const Time mended = later(job.events().now(), moment.lasting);
  job.network().cut(host, "*", mended);
  job.network().cut("*", host, mended);
}

// The workers of node 1 fail once; later those of all end well. False if the node ended before that action.
bool play(const Moment& moment, std::uint64_t step) {
  WholeScenario scenario;
  scenario.elastic = moment.elastic;
  scenario.hosting = moment.hosting;
  scenario.max_restarts = 1;
  scenario.heartbeat = heartbeat;
  WholeJob job(step, scenario);
  for (std::size_t i = 0; i < nodes; ++i)
    job.add([i](const Round& round) {
      return round.restarts == 0 ? Plan{i == 1 ? Duration(1s) : Duration(300s), i == 1 ? 7 : 0} : Plan{3s, 0};
    });
  bool disturbed = false;
  job.launch_node(moment.victim).at_step(step, [&] {
    disturbed = true;
    job.unquiet(moment.lasting);
    disturb(job, moment);
  });
  for (std::size_t i = 0; i < nodes; ++i) job.node(i).start();
  job.unquiet(5s);
  job.run_to_end(30s);
  for (std::size_t i = 0; i < nodes; ++i)
    if (job.node(i).exit_code() != 0) job.fault(job.node(i).host() + " does not end well");
  // A node that has just been cut off may hear of the failure before it can start.
  if (job.started_rounds() > static_cast<int>(2 * nodes)) job.fault("it costs a round");
  EXPECT_EQ(job.faults(), std::vector<std::string>()) << "after action " << step << "\n" << job.story();
  return disturbed;
}

void play_every(const Moment& moment) {
  SCOPED_TRACE(fmt::format("{}, store {}, node {} for {}", moment.elastic ? "c10d" : "static",
                           static_cast<int>(moment.hosting), moment.victim, to_text(moment.lasting)));
  std::uint64_t step = 1;
  while (play(moment, step) && !::testing::Test::HasFailure()) ASSERT_LT(++step, 2000U);
}

// Shorter than what workers need to write their keys.
TEST(EveryNap, OfAMomentDisturbsNobody) {
  for (const std::size_t victim : {0U, 1U}) {
    play_every({false, Hosting::node, victim, 100ms});
    play_every({true, Hosting::node, victim, 100ms});
    play_every({true, Hosting::launch, victim, 100ms});
  }
}

TEST(EveryNap, OfNearlyTheTimeOutDisturbsNobody) {
  for (const std::size_t victim : {0U, 1U}) {
    play_every({false, Hosting::node, victim, heartbeat * 88 / 100});
    play_every({true, Hosting::node, victim, heartbeat * 88 / 100});
    play_every({true, Hosting::launch, victim, heartbeat * 88 / 100});
  }
}

TEST(EveryCut, OfAMomentDisturbsNobody) {
  for (const std::size_t victim : {0U, 1U}) {
    play_every({false, Hosting::node, victim, 1500ms, true});
    play_every({true, Hosting::node, victim, 1500ms, true});
    play_every({true, Hosting::launch, victim, 1500ms, true});
  }
}

}  // namespace launch::nap_sim_test
