// Agents of torchrun's older rendezvous at a small etcd, for tests of VersionRendezvous. torchrun's agents are played
// by writing what torchrun 2.13 would. Time is the world's own: it goes from one moment that an agent waits for to the
// next.
#pragma once

#include "launch/core/c10d/version_rendezvous.hpp"
#include "launch/core/store/etcd_operation.hpp"
#include "launch/core/store/keys.hpp"

#include "fake_etcd.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace launch::version_rendezvous_test {

using namespace std::chrono_literals;

inline const std::string root = "/p/run_j";
inline const std::string active = active_version_key(root);

struct Agent {
  Agent(const std::string& name, NodeLimits nodes, Random random) : machine(settings(name, nodes), root, random) {}

  static ElasticSettings settings(const std::string& name, NodeLimits nodes) {
    ElasticSettings result;
    result.run_id = "j";
    result.self = NodeDesc{name, 1, launch_local_id};
    result.nodes = nodes;
    result.join_timeout = 60s;
    return result;
  }

  template <class News>
  std::vector<News> heard() const {
    std::vector<News> found;
    for (const ElasticNews& one : news)
      if (const auto* const it = std::get_if<News>(&one)) found.push_back(*it);
    return found;
  }
  template <class News>
  News last() const {
    const auto all = heard<News>();
    EXPECT_FALSE(all.empty());
    return all.empty() ? News() : all.back();
  }
  std::int64_t round() const { return heard<RoundFormed>().empty() ? 0 : last<RoundFormed>().round; }

  VersionRendezvous machine;
  ElasticStep step{};
  std::vector<ElasticNews> news{};
  std::string error{};
  bool lives = true;
};

// The agents, their etcd and the time.
class World {
 public:
  Agent& start(const std::string& name, NodeLimits nodes) {
    Agent& agent = agents_.emplace_back(name, nodes, Random(agents_.size() + 1));
    agent.machine.join(time_, 0);
    take(agent, agent.machine.start(instant()));
    return agent;
  }

  // As if a link were woken.
  void join(Agent& agent) {
    agent.machine.join(time_, 0);
    wake(agent);
  }
  void wake(Agent& agent) {
    if (waits(agent.step.next)) answer(agent, WaitExpired{});
  }

  // Each agent works until it waits; then time goes to the next moment that one waits for.
  void pass(Duration length) {
    const Time end = later(time_, length);
    while (true) {
      work();
      Time next = end;
      for (const Agent& agent : agents_)
        if (agent.lives) next = std::min(next, agent.machine.deadline());
      etcd.pass(next - time_);
      time_ = next;
      if (time_ >= end) return work();
      for (Agent& agent : agents_)
        if (agent.lives && agent.machine.deadline() <= time_) answer(agent, WaitExpired{});
    }
  }
  void work() {
    for (bool busy = true; busy;) {
      busy = false;
      for (Agent& agent : agents_) {
        if (!agent.lives || waits(agent.step.next)) continue;
        busy = true;
        answer(agent, perform(agent.step.next));  // one operation each, so that they get in each other's way
      }
    }
  }

  VersionState state() const {
    const auto held = etcd.nodes.find(active);
    return held == etcd.nodes.end() ? VersionState() : *read_version_state(held->second);
  }
  // What an agent of torchrun makes of the state.
  template <class Change>
  void change(Change make) {
    VersionState next = state();
    make(next);
    (void)perform(SetKeys{{{active, write_version_state(next)}}});
  }
  // One of torchrun's joins and confirms, as if its lease were renewed for ever.
  void torchrun_joins() {
    change([](VersionState& state) { ++state.participants; });
  }
  void torchrun_confirms(int rank) {
    const std::string lease = lease_key(root, state().version, rank);
    etcd.nodes[lease] = "";
    change([&](VersionState& state) {
      state.keep_alives.push_back(lease);
      if (static_cast<int>(state.keep_alives.size()) == state.participants) state.status = VersionState::Status::final;
    });
  }

  FakeEtcd etcd;

 private:
  Instant instant() const { return {time_, WallTime()}; }

  Outcome perform(const Operation& operation) {
    EtcdOperation steps(operation, EtcdLayout("j", "/p"));
    EtcdStep step = steps.start();
    while (const auto* const request = std::get_if<EtcdRequest>(&step)) step = steps.on(*etcd.ask(*request));
    EXPECT_TRUE(std::holds_alternative<Outcome>(step));
    return std::holds_alternative<Outcome>(step) ? std::get<Outcome>(step) : Outcome(Done{});
  }
  void take(Agent& agent, ElasticStep next) {
    agent.step = std::move(next);
    for (ElasticNews& one : agent.step.news) agent.news.push_back(std::move(one));
  }
  void answer(Agent& agent, const Outcome& outcome) {
    auto next = agent.machine.on(outcome, instant());
    if (next) return take(agent, *std::move(next));
    agent.error = next.error().message;
    agent.lives = false;
  }

  std::deque<Agent> agents_;
  Time time_{1h};
};

}  // namespace launch::version_rendezvous_test
