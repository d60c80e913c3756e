#include "launch/core/rendezvous/liveness.hpp"

#include "choices.hpp"
#include "whole_job.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include <fmt/format.h>

namespace launch::whole_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::NodeHost;
using play::Plan;

constexpr Duration time_to_end = 200s;   // time-outs of 60 s, silence, workers that need to be killed
constexpr Duration time_to_go_on = 15s;  // two rounds of workers that take 5 s, and the last call before one

Plan good() { return {5s, 0}; }

// ---- a crash at every step

struct Crash {
  bool elastic;
  int restarts;
  std::size_t victim;
  bool asks = false;  // all nodes ask all others again and again; then k grows by 7
};

void ask_again(WholeJob& job, std::size_t node) {
  NodeHost& asker = job.launch_node(node);
  asker.when_awake(later(job.events().now(), 1500ms), [&job, &asker, node] {
    asker.ask("who is there?");
    ask_again(job, node);
  });
}

// One node of three is killed after its k-th action, for every k.
void play_every(const Crash& crash) {
  SCOPED_TRACE(fmt::format("{}, {} restarts, node {} is killed", crash.elastic ? "c10d" : "static", crash.restarts,
                           crash.victim));
  WholeScenario scenario;
  scenario.elastic = crash.elastic;
  scenario.fewest = 2;
  scenario.max_restarts = crash.restarts;
  scenario.asks = crash.asks;
  bool crashed = true;
  for (std::uint64_t step = 1; crashed; step += crash.asks ? 7 : 1) {
    WholeJob job(step, scenario);
    for (int i = 0; i < 3; ++i) {
      const bool fails = i == 1 && crash.restarts > 0;  // in the first round
      job.add([fails](const Round& round) { return fails && round.restarts == 0 ? Plan{2s, 7} : good(); });
    }
    // One node may hear that all have ended, and another that the host is gone.
    if (crash.victim == 0) job.allow_different_ends();
    job.launch_node(crash.victim).kill_after(step);
    for (std::size_t i = 0; i < 3; ++i)
      job.events().in(job.events().random().between(1us, 300ms), [&job, i] { job.node(i).start(); });
    for (std::size_t i = 0; crash.asks && i < 3; ++i) ask_again(job, i);
    // A node that had its part is missed at once, not when a time-out is over.
    while (job.node(crash.victim).alive() && job.events().now() < Time(1h) + time_to_end)
      job.events().run_until(job.events().now() + 10ms);
    job.unquiet(10s);
    // If another node follows the host, it waits for those that it does not know to have ended.
    const bool follows = crash.elastic && crash.victim == 0;
    const Duration known = job.node(crash.victim).formed() ? time_to_go_on : time_to_end;
    job.run_to_end(follows ? wait_after_host(scenario.heartbeat, scenario.nodes) + known : known);
    crashed = !job.node(crash.victim).exit_code().has_value();
    ASSERT_EQ(job.faults(), std::vector<std::string>()) << "killed after action " << step << "\n" << job.story();
    ASSERT_LT(step, 2000U);
  }
}

TEST(EveryCrash, OfAStaticJob) {
  for (const std::size_t victim : {0U, 1U, 2U}) play_every({false, 0, victim});
}

TEST(EveryCrash, OfAStaticJobThatStartsAgain) {
  for (const std::size_t victim : {0U, 1U, 2U}) play_every({false, 2, victim});
}

TEST(EveryCrash, OfAnElasticJob) {
  for (const std::size_t victim : {0U, 1U, 2U}) play_every({true, 0, victim});
}

TEST(EveryCrash, OfAnElasticJobThatStartsAgain) {
  for (const std::size_t victim : {0U, 1U, 2U}) play_every({true, 2, victim});
}

TEST(EveryCrash, OfAJobWhoseNodesAskEachOther) {
  for (const bool elastic : {false, true})
    for (const std::size_t victim : {0U, 1U}) play_every({elastic, 2, victim, true});
}

// ---- two halves of a network

enum class Trouble {
  cut,
  cut_to,
  cut_from,
  asleep,
  reset,  // cut off, and its connections end just before it would take the store's host for dead
};

// Two of three nodes go on alone as soon as they may. The workers of the third one, which only SIGKILL ends, must be
// gone by then. `phase`: the moment between two of its beats when its trouble begins.
std::vector<std::string> play_halves(Trouble trouble, Duration heartbeat, Duration phase, std::string* story) {
  WholeScenario scenario;
  scenario.elastic = true;
  scenario.fewest = 1;
  scenario.heartbeat = heartbeat;
  scenario.longest_delay = 100us;
  WholeJob job(1, scenario);
  for (std::size_t i = 0; i < 3; ++i) {
    job.add([i](const Round&) { return Plan{Duration::max(), 0, i == 2 ? Duration::max() : Duration(1ms)}; });
    job.node(i).start();
  }
  job.events().run_until(Time(1h) + 10s + phase);
  const std::string host = job.node(2).host();
  const Duration lasting = heartbeat * 2;
  const Time mended = later(job.events().now(), lasting);
  if (trouble == Trouble::asleep) job.freeze(2, lasting);
  const bool both_ways = trouble == Trouble::cut || trouble == Trouble::reset;
  if (both_ways || trouble == Trouble::cut_to) job.network().cut("*", host, mended);
  if (both_ways || trouble == Trouble::cut_from) job.network().cut(host, "*", mended);
  if (trouble == Trouble::reset)
    job.events().in(plan_heartbeat(heartbeat, 3).patience, [&job, host] { job.network().reset(host); });
  const auto rounds = job.started_rounds();
  job.events().run_until(mended + heartbeat * 2);
  std::vector<std::string> faults = job.faults();
  if (job.started_rounds() == rounds) faults.push_back("the others do not go on");
  *story = job.story();
  return faults;
}

TEST(TwoHalves, NeverRunAtOnceHoweverANodeIsCutOff) {
  for (const Trouble trouble : {Trouble::cut, Trouble::cut_to, Trouble::cut_from, Trouble::asleep})
    for (const Duration heartbeat : {Duration(1s), Duration(5s), Duration(30s), Duration(300s)})
      for (int phase = 0; phase < 20; ++phase) {
        std::string story;
        ASSERT_EQ(play_halves(trouble, heartbeat, heartbeat * phase / 80, &story), std::vector<std::string>())
            << "trouble " << static_cast<int>(trouble) << ", heartbeat " << to_text(heartbeat) << ", phase " << phase
            << "\n"
            << story;
      }
}

TEST(TwoHalves, NeverRunAtOnceIfTheConnectionEndsBeforeItIsSilent) {
  constexpr Duration heartbeat = 5s;
  for (int phase = 0; phase < 400; ++phase) {
    std::string story;
    ASSERT_EQ(play_halves(Trouble::reset, heartbeat, heartbeat * phase / 200, &story), std::vector<std::string>())
        << "phase " << phase << "\n"
        << story;
  }
}

// ---- naps

// A whole cluster is suspended while its nodes wait for the last one.
TEST(WholeJobs, SleepTogetherForLongWhileTheyWaitForOthers) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    WholeScenario scenario;
    scenario.elastic = seed % 2 == 0;
    scenario.heartbeat = 5s;
    WholeJob job(seed, scenario);
    for (std::size_t i = 0; i < 3; ++i) {
      job.add([](const Round&) { return good(); });
      if (i < 2) job.node(i).start();
    }
    Random& dice = job.events().random();
    job.events().run_until(Time(1h) + dice.between(1s, 3s));
    const Duration asleep = dice.between(8s, 30s);
    for (const std::size_t i : {0U, 1U}) job.freeze(i, asleep + dice.between(1us, scenario.heartbeat / 20));
    job.events().run_until(Time(1h) + 36s);
    job.node(2).start();
    job.unquiet(20s);
    job.run_to_end(60s);
    for (std::size_t i = 0; i < 3; ++i)
      if (job.node(i).exit_code() != 0) job.fault(job.node(i).host() + " does not end well");
    ASSERT_EQ(job.faults(), std::vector<std::string>()) << "seed " << seed << "\n" << job.story();
  }
}

// Hosts that are paused for less than nine tenths of the time-out, one after the other, disturb nobody.
class Naps {
 public:
  Naps(std::uint64_t seed, Choices& choices) : seed_(seed), choices_(choices) {
    scenario_.elastic = choices.odds(0.5);
    scenario_.nodes = 2 + static_cast<int>(choices.below(5));
    scenario_.fewest = choices.odds(0.5) ? scenario_.nodes : 1;
    scenario_.max_restarts = choices.odds(0.5) ? 3 : 0;
    scenario_.heartbeat = choices.odds(0.5) ? Duration(5s) : Duration(30s);
  }

  Played play() {
    WholeJob job(seed_, scenario_);
    const auto nodes = static_cast<std::size_t>(scenario_.nodes);
    const Duration heartbeat = scenario_.heartbeat;
    for (std::size_t i = 0; i < nodes; ++i) {
      job.add([&](const Round&) { return Plan{10 * heartbeat, 0}; });
      job.node(i).start();
    }
    Duration at = choices_.between(1s, heartbeat);
    while (at < 8 * heartbeat) {
      const std::size_t node = choices_.below(nodes);
      const Duration length = choices_.between(1ms, heartbeat * 88 / 100);
      job.events().in(at, [&job, node, length] { job.freeze(node, length); });
      at += length + choices_.between(heartbeat / 4, heartbeat);
    }
    job.unquiet(11 * heartbeat);
    job.run_to_end(60s);
    if (job.started_rounds() != scenario_.nodes) job.fault("a nap costs a round");
    for (std::size_t i = 0; i < nodes; ++i)
      if (job.node(i).exit_code() != 0) job.fault(job.node(i).host() + " does not end well");
    return {job.faults(), job.story()};
  }

 private:
  std::uint64_t seed_;
  Choices& choices_;
  WholeScenario scenario_;
};

TEST(WholeJobs, SleepThroughNapsThatAreShorterThanTheTimeOut) {
  play_seeds(wanted_seeds(500), [](std::uint64_t seed, Choices& choices) { return Naps(seed, choices).play(); });
}

// ---- many

TEST(WholeJobs, TwoHundredNodesOfTwoHundredStartAndEndTogether) {
  for (const bool elastic : {false, true}) {
    WholeScenario scenario;
    scenario.elastic = elastic;
    scenario.nodes = scenario.fewest = 200;
    scenario.max_restarts = 1;
    WholeJob job(7, scenario);
    for (int i = 0; i < 200; ++i) {
      job.add([i](const Round& round) { return i == 77 && round.restarts == 0 ? Plan{2s, 9} : good(); });
      job.events().in(job.events().random().between(1us, 2s),
                      [&job, i] { job.node(static_cast<std::size_t>(i)).start(); });
    }
    job.unquiet(10s);
    job.run_to_end(60s);
    EXPECT_EQ(job.faults(), std::vector<std::string>()) << job.story();
    for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(job.node(i).exit_code(), 0) << i;
  }
}

TEST(WholeJobs, OneSeedHasOneStory) {
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < 2; ++i) {
    WholeScenario scenario;
    scenario.elastic = true;
    WholeJob job(11, scenario);
    for (std::size_t node = 0; node < 3; ++node) {
      job.add([](const Round&) { return good(); });
      job.node(node).start();
    }
    job.run_to_end(60s);
    hashes.push_back(job.events().hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// ---- seeds

// What chance does to a job of 2 to 20 nodes. Some of its workers fail, hang, or do not obey.
class Chance {
 public:
  Chance(std::uint64_t seed, Choices& choices) : seed_(seed), choices_(choices) {
    scenario_.elastic = odds(0.6);
    scenario_.nodes = 2 + static_cast<int>(below(odds(0.2) ? 19 : 5));
    scenario_.fewest = odds(0.4) ? scenario_.nodes : 1 + static_cast<int>(below(scenario_.nodes));
    scenario_.max_restarts = odds(0.5) ? 3 : 0;
    scenario_.heartbeat = odds(0.7) ? Duration(5s) : Duration(30s);
    if (odds(0.15)) scenario_.most_changes = static_cast<int>(below(3));
    scenario_.longest_delay = odds(0.8) ? Duration(2ms) : Duration(200ms);
  }

  Played play() {
    WholeJob job(seed_, scenario_);
    const int spares = scenario_.elastic && odds(0.3) ? 1 + static_cast<int>(below(3)) : 0;
    for (int i = 0; i < scenario_.nodes + spares; ++i) {
      job.add([this](const Round& round) { return plan(round); });
      job.events().in(between(1us, 3s), [&job, i] { job.node(static_cast<std::size_t>(i)).start(); });
    }
    const std::size_t troubles = below(7);
    for (std::size_t i = 0; i < troubles; ++i) trouble(job, troubles == 1);
    job.unquiet(60s);
    job.run_to_end(900s);
    return {job.faults(), job.story()};
  }

 private:
  bool odds(double probability) { return choices_.odds(probability); }
  std::size_t below(std::size_t end) { return choices_.below(end); }
  Duration between(Duration low, Duration high) { return choices_.between(low, high); }

  Plan plan(const Round& round) {
    Plan plan{between(1s, odds(0.5) ? Duration(10s) : Duration(100s)), 0};
    if (odds(round.restarts < 2 ? 0.05 : 0.01)) plan.exit_code = 3 + static_cast<int>(below(100));
    if (odds(0.1)) plan.obeys_after = Duration::max();
    if (odds(0.01)) plan.dies_after = Duration::max();
    if (odds(0.2)) plan.obeys_after = between(1ms, 14s);
    if (odds(0.1)) plan.looked_at_for = between(2ms, 3s);
    return plan;
  }

  // `alone`: nothing else befalls the job, so all its nodes can know the same.
  void trouble(WholeJob& job, bool alone) {
    play::Events& events = job.events();
    const std::size_t victim = below(job.count());
    const Duration when = between(1ms, odds(0.5) ? Duration(8s) : Duration(60s));
    const Duration lasting = between(10ms, odds(0.3) ? Duration(3s) : Duration(30s));
    const bool one_way = odds(0.3);
    const Duration own_failure = odds(0.2) ? between(1ms, 6s) : Duration::max();  // while it is cut off
    const std::size_t kind = below(7);
    const bool warned = odds(0.1);  // just before
    const bool cut_or_paused = kind == 2 || kind == 3;
    const bool leaves = scenario_.elastic && kind > 3;  // and the others go on
    if (!alone || warned || cut_or_paused || leaves || victim == 0) job.allow_different_ends();
    events.in(when, [&job, victim, lasting, one_way, own_failure, kind, warned] {
      NodeHost& node = job.launch_node(victim);
      if (!node.alive()) return;
      const std::string host = node.host();
      job.events().note(fmt::format("TROUBLE {} for {}: {}", kind, to_text(lasting), host));
      const Time mended = later(job.events().now(), lasting);
      job.unquiet(lasting + 60s);
      if (warned && kind != 5) node.warn(SIGUSR1);
      if (kind == 0) node.kill();
      if (kind == 1) node.lose_power();
      if (kind == 2) job.freeze(victim, lasting);
      if (kind == 3) job.network().cut(host, "*", mended);
      if (kind == 3 && !one_way) job.network().cut("*", host, mended);
      if (kind == 3 && own_failure != Duration::max())
        node.when_awake(later(job.events().now(), own_failure), [&node] { node.fail_workers(false); });
      if (kind == 4 && !node.running()) job.allow_different_ends();  // all may just have ended well
      if (kind == 4) node.signal(SIGTERM);
      if (kind == 5) node.warn(SIGUSR1);
      if (kind == 6) node.lose_guard();
      if (kind == 5 || warned) job.allow_time_to_save();
    });
  }

  std::uint64_t seed_;
  Choices& choices_;
  WholeScenario scenario_;
};

TEST(WholeJobs, KeepTheirPromisesWhateverChanceDoes) {
  play_seeds(wanted_seeds(5000), [](std::uint64_t seed, Choices& choices) { return Chance(seed, choices).play(); });
}

}  // namespace launch::whole_sim_test
