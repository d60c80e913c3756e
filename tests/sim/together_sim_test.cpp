// C10d jobs of launch's and torchrun's nodes, under faults, whose store is never lost: however nodes fail, join, leave,
// are paused or are cut off, all that live come together again, and end together. LAUNCH_SIM_SEEDS=N says how many
// seeds the largest scenario has.
#include "choices.hpp"
#include "whole_job.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace launch::together_sim_test {

using namespace sim;
using namespace std::chrono_literals;
using play::AgentHost;
using play::Plan;

constexpr Duration last_call = 3s;
constexpr Duration stopping_time = 300ms;  // of workers
constexpr int most_requests = 700;         // a second, of a small job

struct Scenario {
  Hosting hosting = Hosting::launch;
  bool mixed = false;  // with torchrun's nodes
  bool faults = true;  // nodes that are lost, paused or cut off
  Duration offset{};   // largest one of a clock, either way
  bool hasty = false;  // workers fail as soon as they run
  bool admits = true;  // false: --join=between-restarts
  std::size_t fewest = 3;
  std::size_t most = 20;
};

struct Figures {
  Duration worst_loss{};    // from a loss that is known at once to the round without the node
  Duration worst_settle{};  // from the last fault to the round of all
  int losses = 0;           // that were measured
};

class Company {
 public:
  Company(std::uint64_t seed, Choices& choices, const Scenario& scenario)
      : scenario_(scenario), choices_(choices), whole_(choose()), job_(seed, whole_) {
    job_.allow_different_ends();  // some nodes are told to leave
    // Replaces it, as the one that started it would: it was told to leave, was cut off too long, or waited for ranks
    // for nothing.
    job_.on_end([this](std::size_t index) {
      if (!finishing_) replace(index, between(1ms, 4s));
    });
    for (int i = 0; i < whole_.nodes; ++i) job_.events().in(between(1us, 2s), [this] { come(); });
    job_.events().run_until(later(job_.events().now(), 2s));
  }

  void play() {
    const int troubles = scenario_.hasty ? 40 : 2 + static_cast<int>(below(8));
    for (int i = 0; i < troubles; ++i) {
      const Duration most = scenario_.hasty ? Duration(20ms) : odds(0.3) ? Duration(1s) : Duration(20s);
      job_.events().run_until(later(job_.events().now(), between(1ms, most)));
      trouble();
    }
    if (!has_ours()) return;  // torchrun's nodes alone may restart for ever, if one of them stands by
    settle();
    finish();
    const int most = quick() ? most_requests * whole_.nodes / 8 : most_requests;
    if (job_.busiest_second() > std::max(most, most_requests))
      job_.fault(fmt::format("{} requests within a second", job_.busiest_second()));
  }

  const WholeJob& job() const { return job_; }
  const Figures& figures() const { return figures_; }

 private:
  bool odds(double probability) { return choices_.odds(probability); }
  std::size_t below(std::size_t end) { return choices_.below(end); }
  Duration between(Duration low, Duration high) { return choices_.between(low, high); }
  bool quick() const { return scenario_.hosting == Hosting::launch && !scenario_.mixed; }

  bool has_ours() const {
    const std::vector<std::size_t> alive = job_.alive();
    return std::any_of(alive.begin(), alive.end(), [this](std::size_t index) { return job_.is_launch(index); });
  }

  WholeScenario choose() {
    WholeScenario whole;
    const std::size_t most = scenario_.most == 20 && odds(0.03) ? 50 : scenario_.most;
    whole.elastic = true;
    whole.hosting = scenario_.hosting;
    whole.nodes = static_cast<int>(scenario_.fewest + below(most - scenario_.fewest + 1));
    whole.fewest = odds(0.5) ? whole.nodes : 1 + static_cast<int>(below(static_cast<std::size_t>(whole.nodes)));
    whole.max_restarts = 1'000'000;
    whole.heartbeat = 5s;
    whole.longest_delay = 1ms;
    whole.join_timeout = 600s;
    whole.joins_wait = !scenario_.admits;
    whole.judges_torchrun = !scenario_.faults;
    whole.moves = odds(0.5);
    return whole;
  }

  void come() {
    if (scenario_.offset > 0s)
      job_.network().set_clock("n" + std::to_string(job_.count()), between(-scenario_.offset, scenario_.offset));
    const auto planner = [this](const Round&) {
      // A change that was under way at the end of all may have led to another round. A node of torchrun looks after a
      // second whether another one waits, and begins a new round then, though the job has as many as it takes.
      const Duration last_work = scenario_.mixed ? 500ms : 1s;
      const Duration work = finishing_ ? last_work : Duration::max();
      return Plan{.ends_after = work, .obeys_after = between(1ms, stopping_time)};
    };
    if (scenario_.mixed && odds(0.4)) {
      job_.add_torchrun(planner).start();
    } else {
      job_.add(planner).start();
    }
    job_.unquiet(Duration::zero());
  }

  // ---- what befalls them

  void trouble() {
    std::vector<std::size_t> candidates = job_.alive();
    std::erase_if(candidates, [this](std::size_t index) { return in_trouble(index); });
    if (candidates.empty()) return;
    const std::size_t victim = candidates[below(candidates.size())];
    if (!scenario_.faults || odds(0.4)) return fail(victim);
    switch (below(6)) {
      case 0:
      case 1:
        return kill(victim);
      case 2:
        return unplug(victim);
      case 3:
        return freeze(victim);
      case 4:
        return job_.is_launch(victim) ? cut(victim) : freeze(victim);
      default:
        if (!job_.is_launch(victim) || odds(0.5)) return come();
        troubled(victim, 2 * stopping_time);
        return job_.node(victim).signal(SIGTERM);
    }
  }

  bool in_trouble(std::size_t index) { return index < calm_.size() && job_.events().now() < calm_[index]; }

  void troubled(std::size_t index, Duration lasting) {
    if (calm_.size() <= index) calm_.resize(index + 1);
    calm_[index] = later(job_.events().now(), lasting);
    job_.unquiet(lasting);
  }

  // A node of torchrun may not have workers yet: they start once every node has seen the round.
  void fail(std::size_t victim) {
    const auto& node = job_.node(victim);
    if (node.running()) job_.node(victim).fail_workers(true);
    job_.unquiet(Duration::zero());
  }

  // Starts another process on the same host, or on another host.
  void replace(std::size_t victim, Duration delay) {
    const bool same_host = odds(0.5);
    job_.unquiet(delay);
    job_.events().in(delay, [this, victim, same_host] {
      const std::string& host = job_.node(victim).host();
      if (same_host && !job_.network().is_down(host)) job_.reuse_host(host);
      come();
    });
  }

  // A loss that is known at once costs messages and the time that workers take to end.
  void kill(std::size_t victim) {
    const bool calm = job_.events().now() >= job_.quiet_at() && job_.together();
    const bool enough = static_cast<int>(job_.alive().size()) > whole_.fewest;
    const bool measured = calm && enough && quick() && job_.node(victim).running();
    job_.events().note(job_.node(victim).host() + " is killed");
    job_.node(victim).kill();
    if (!measured) return replace(victim, between(1ms, 4s));
    const Time loss = job_.events().now();
    if (!job_.run_until_together(1s + stopping_time))
      job_.fault("a second after a loss the nodes are not together: " + describe());
    ++figures_.losses;
    figures_.worst_loss = std::max(figures_.worst_loss, job_.events().now() - loss);
    replace(victim, between(1ms, 4s));
  }

  void unplug(std::size_t victim) {
    job_.events().note(job_.node(victim).host() + " loses its power");
    troubled(victim, job_.missed_after());
    replace(victim, between(1ms, 10s));
    job_.node(victim).lose_power();
  }

  void freeze(std::size_t victim) {
    // A torchrun agent that was thrown out while it was paused never notices.
    const Duration duration = between(1s, job_.is_launch(victim) ? 40s : 9s);
    job_.events().note(job_.node(victim).host() + " stands still for " + to_text(duration));
    troubled(victim, std::max(duration, job_.missed_after()));
    job_.freeze(victim, duration);
  }

  // Cuts off one node, or a part of the network.
  void cut(std::size_t first) {
    const Duration duration = between(100ms, 8s);
    const bool many = odds(0.3);
    for (const std::size_t index : job_.alive()) {
      const bool off = index == first || (many && odds(0.5));
      if (!off || in_trouble(index) || !job_.is_launch(index)) continue;
      const std::string host = job_.node(index).host();
      job_.events().note(host + " is cut off for " + to_text(duration));
      troubled(index, std::max(duration, job_.missed_after()));
      const Time mended = later(job_.events().now(), duration);
      job_.network().cut(host, "*", mended);
      job_.network().cut("*", host, mended);
    }
  }

  // ---- its end

  // Faults have stopped: all nodes must come together.
  void settle() {
    job_.events().run_until(later(std::max(job_.quiet_at(), job_.events().now()), 50ms));
    if (!scenario_.admits) {
      // Nodes that have joined meanwhile are let in when the others restart.
      job_.events().run_until(later(job_.events().now(), last_call + 1s + stopping_time));
      for (const std::size_t index : job_.alive()) {
        if (!job_.node(index).running()) continue;
        fail(index);
        break;
      }
    }
    const Time begin = job_.events().now();
    const Duration limit = quick() ? last_call + 2 * (1s + stopping_time) : Duration(300s);
    if (!job_.run_until_together(limit)) job_.fault("the nodes do not come together: " + describe());
    figures_.worst_settle = job_.events().now() - begin;
    if (scenario_.mixed) calm_down(limit);
  }

  // torchrun's nodes do not notice at the end that one was thrown out that has slept: they wait for it in the barrier.
  void calm_down(Duration limit) {
    job_.events().run_until(later(job_.events().now(), 3 * whole_.heartbeat + 1s));
    if (!job_.run_until_together(limit)) job_.fault("the nodes do not stay together: " + describe());
  }

  std::string describe() {
    std::string text;
    for (const std::size_t index : job_.alive()) {
      const auto& round = job_.node(index).running();
      text += fmt::format(" {}: {}", job_.node(index).host(),
                          round ? fmt::format("round {}", round->number) : std::string("none"));
    }
    return text;
  }

  // Workers end well, spares are not needed, and a node that joins after the end is refused.
  void finish() {
    if (!job_.faults().empty()) return;
    finishing_ = true;
    std::vector<std::size_t> last = job_.alive();
    std::erase_if(last, [this](std::size_t index) { return !job_.node(index).running(); });
    const std::int64_t round = last.empty() ? 0 : job_.node(last.front()).running()->number;
    for (const std::size_t index : last) job_.node(index).end_workers();
    job_.unquiet(Duration::zero());
    const bool host_leaves = scenario_.hosting == Hosting::torchrun && !last.empty() && odds(0.5);
    if (host_leaves && job_.run_until_all_have_ended(round, 60s)) {
      job_.events().run_until(later(job_.events().now(), between(1us, 3ms)));
      job_.lose_store();
    }
    job_.run_to_end(whole_.join_timeout + 10s);  // one that has no workers yet looks so long for a store that is gone
    for (const std::size_t index : last) {
      // A node of torchrun has begun another round, in which this one was not needed.
      if (scenario_.mixed && !job_.took_part_at_last(index)) continue;
      if (job_.node(index).exit_code() != 0) job_.fault(job_.node(index).host() + " does not end well");
    }
    if (host_leaves) return;
    AgentHost& late = job_.add([](const Round&) { return Plan(); });
    late.start();
    job_.unquiet(Duration::zero());
    job_.run_to_end(10s);
    if (late.exit_code() != 1) job_.fault(late.host() + " does not hear of the end");
  }

  Scenario scenario_;
  Choices& choices_;
  WholeScenario whole_;
  WholeJob job_;
  std::vector<Time> calm_;  // by node: when its trouble is over
  bool finishing_ = false;
  Figures figures_;
};

void play_all(const Scenario& scenario, std::uint64_t seeds) {
  Figures worst;
  play_seeds(seeds, [&](std::uint64_t seed, Choices& choices) {
    Company company(seed, choices, scenario);
    company.play();
    const Figures& figures = company.figures();
    worst.losses += figures.losses;
    worst.worst_loss = std::max(worst.worst_loss, figures.worst_loss);
    worst.worst_settle = std::max(worst.worst_settle, figures.worst_settle);
    return Played{company.job().faults(), company.job().story()};
  });
  std::printf("together %s after the last fault at most", to_text(worst.worst_settle).c_str());
  if (worst.losses > 0) std::printf(", %s after one of %d losses", to_text(worst.worst_loss).c_str(), worst.losses);
  std::printf("\n");
}

constexpr Scenario ours{};
constexpr Scenario day_apart{.offset = 24h};
constexpr Scenario between_restarts{.admits = false};
constexpr Scenario hasty{.faults = false, .hasty = true};
constexpr Scenario polled{.hosting = Hosting::torchrun, .fewest = 2, .most = 8};
constexpr Scenario mixed{.mixed = true, .faults = false, .most = 12};
constexpr Scenario mixed_faults{.mixed = true, .offset = 500ms, .most = 12};
constexpr Scenario mixed_polled{.hosting = Hosting::torchrun, .mixed = true, .faults = false, .fewest = 2, .most = 8};
constexpr Scenario mixed_polled_faults{
    .hosting = Hosting::torchrun, .mixed = true, .offset = 500ms, .fewest = 2, .most = 8};

const std::uint64_t seeds = wanted_seeds(600);

TEST(Together, LaunchNodesUnderFaults) { play_all(ours, seeds); }
TEST(Together, WithClocksADayApart) { play_all(day_apart, seeds / 10); }
TEST(Together, WithNewcomersThatWait) { play_all(between_restarts, seeds / 4); }
TEST(Together, WithWorkersThatFailAtOnce) { play_all(hasty, seeds / 10); }
TEST(Together, WithTorchrunNodes) { play_all(mixed, seeds / 10); }
TEST(Together, WithTorchrunNodesUnderFaults) { play_all(mixed_faults, seeds / 4); }
TEST(Together, OverTorchrunsStore) { play_all(polled, seeds / 10); }
TEST(Together, OverTorchrunsStoreWithItsNodes) { play_all(mixed_polled, seeds / 10); }
TEST(Together, OverTorchrunsStoreWithItsNodesUnderFaults) { play_all(mixed_polled_faults, seeds / 10); }

// It has stood still while the round formed that it leads, and says where the workers meet when it has given that up.
TEST(Together, WhoSaysLateWhereWorkersMeetHasRemovedTheKeysOfEarlierOnes) {
  constexpr std::uint64_t once_failed = 567;
  Choices choices(once_failed);
  Company company(once_failed, choices, mixed_polled_faults);
  company.play();
  EXPECT_EQ(company.job().faults(), std::vector<std::string>()) << company.job().story();
}

// The same events at the same times, in every build.
TEST(Together, ASeedIsARun) {
  std::uint64_t all = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::uint64_t hashes[2] = {};
    for (std::uint64_t& hash : hashes) {
      Choices choices(seed);
      Company company(seed, choices, ours);
      company.play();
      hash = company.job().hash();
    }
    EXPECT_EQ(hashes[0], hashes[1]);
    all = all * 31 + hashes[0];
  }
  std::uint64_t recorded = 0;
  std::ifstream(LAUNCH_TEST_DATA "/sim_hash.txt") >> recorded;
  EXPECT_EQ(all, recorded) << "after a wanted change, write this number to tests/data/sim_hash.txt";
}

}  // namespace launch::together_sim_test
