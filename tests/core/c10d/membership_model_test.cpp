// Agents of both kinds and strangers do anything, in any order: nobody is told twice or what does not fit, nothing
// spins, and whoever lives and wants in comes in.
#include "membership_driver.hpp"

#include "launch/core/base/random.hpp"

#include <gmock/gmock.h>

namespace launch::membership_model_test {

using namespace std::chrono_literals;
using Wish = Attendance::Wish;

NodeDesc any_node(Random& random) {
  const std::string addr = "n" + std::to_string(random.next() % 6 + 1);
  return random.next() % 2 == 0 ? ours(addr) : theirs(addr);
}

// Whatever can be read as a state.
ElasticState any_state(Random& random, ElasticState state, Instant now) {
  for (std::uint64_t changes = random.next() % 4; changes > 0; --changes) {
    const NodeDesc node = any_node(random);
    switch (random.next() % 10) {
      case 0:
        state.participants[node] = static_cast<int>(random.next() % 5);
        break;
      case 1:
        state.participants.erase(node);
        break;
      case 2:
        state.complete = !state.complete;
        break;
      case 3:
        state.round += static_cast<std::int64_t>(random.next() % 2);
        break;
      case 4:
        state.wait_list.insert(node);
        break;
      case 5:
        state.redundancy_list.insert(node);
        break;
      case 6:
        state.last_heartbeats[node] = now.wall;
        break;
      case 7:
        state.last_heartbeats.erase(node);
        break;
      case 8:
        state.deadline = now.wall;
        break;
      default:
        state.deadline.reset();
        if (random.next() % 20 == 0) state = {};
        if (random.next() % 20 == 0) state.participants.clear();
        break;
    }
  }
  return state;
}

TEST(MembershipModel, NothingThatStrangersDoStopsTheHost) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    MembershipDriver job(1 + static_cast<int>(random.next() % 2), 2 + static_cast<int>(random.next() % 3));
    for (int step = 0; step < 120 && !testing::Test::HasFailure(); ++step) {
      const auto from = static_cast<ConnectionId>(1 + random.next() % 6);
      switch (random.next() % 8) {
        case 0:
          job.drop(from, random.next() % 2 == 0);
          break;
        case 1:
          job.pass(std::chrono::milliseconds(random.next() % 20'000));
          break;
        case 2:
          job.stop_waiting(from);
          break;
        case 3:
        case 4:
          (void)job.membership.adopt(from, write_state(any_state(random, job.read(), job.instant())), job.instant());
          job.listen();
          break;
        default: {
          constexpr std::array wishes = {Wish::join, Wish::join, Wish::join, Wish::stay, Wish::look, Wish::leave};
          Attendance said = job.said(wishes[random.next() % 6], "n" + std::to_string(1 + random.next() % 6),
                                     static_cast<std::int64_t>(random.next() % 4) - 1);
          said.admits = random.next() % 4 != 0;
          if (random.next() % 10 == 0) said.node.local_id = 0;
          if (random.next() % 200 == 0) said.wish = Wish::close;
          job.attend(from, said);
        }
      }
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// A launch agent as HostedRendezvous is one, with the worst of luck.
struct Agent {
  enum class State {
    out,
    joins,
    in
  };
  State state = State::out;
  std::int64_t round = -1;
};

class LaunchNodes {
 public:
  LaunchNodes(std::uint64_t seed, int min, int max) : random_(seed), job_(min, max), agents_(max + 2) {}

  void act() {
    const auto from = static_cast<ConnectionId>(random_.next() % agents_.size());
    Agent& agent = agents_[from];
    switch (random_.next() % 12) {
      case 0:
        job_.drop(from, random_.next() % 2 == 0);
        agent = {};
        break;
      case 1:
        job_.leave(from, "");
        EXPECT_NE(job_.only<RendezvousEnded>(from), nullptr);
        agent = {};
        break;
      case 2:
        // A look in between: what came meanwhile must not be lost.
        job_.stop_waiting(from);
        if (agent.state == Agent::State::joins) {
          job_.attend(from, job_.said(Wish::look, job_.name(from)));
          EXPECT_NE(job_.only<RoundWaits>(from), nullptr);
          job_.join(from, agent.round);
        } else if (agent.state == Agent::State::in) {
          job_.stay(from, agent.round);
        }
        break;
      case 3:
        job_.pass(std::chrono::milliseconds(random_.next() % 10'000));
        break;
      default:
        if (agent.state == Agent::State::joins) break;
        if (agent.state == Agent::State::in && random_.next() % 4 != 0) break;
        if (agent.state == Agent::State::in) job_.stop_waiting(from);
        agent.state = Agent::State::joins;
        job_.join(from, agent.round);
    }
    hear();
  }

  // All who live join; a last call later a round stands.
  void settle() {
    for (int turn = 0; turn < 4; ++turn) {
      for (ConnectionId from = 0; from < agents_.size(); ++from) {
        if (agents_[from].state != Agent::State::out) continue;
        agents_[from].state = Agent::State::joins;
        job_.join(from, agents_[from].round);
        hear();
      }
      job_.pass(31s);
      hear();
    }
    int in = 0;
    for (const Agent& agent : agents_) in += agent.state == Agent::State::in ? 1 : 0;
    EXPECT_EQ(in, job_.nodes.max);
    EXPECT_TRUE(job_.membership.state().complete);
    EXPECT_EQ(job_.membership.state().redundancy_list.size(), agents_.size() - static_cast<std::size_t>(in));
    EXPECT_TRUE(job_.membership.state().wait_list.empty());
  }

 private:
  void hear() {
    std::map<std::int64_t, std::map<NodeRank, int>> ranks;
    for (ConnectionId from = 0; from < agents_.size(); ++from) {
      const auto news = job_.take(from);
      if (news.empty()) continue;
      ASSERT_EQ(news.size(), 1U);
      hear(from, news[0]);
      if (const auto* formed = std::get_if<RoundFormed>(&news[0])) {
        EXPECT_EQ(++ranks[formed->round][formed->rank], 1);
      }
    }
  }
  void hear(ConnectionId from, const ElasticNews& news) {
    Agent& agent = agents_[from];
    if (const auto* formed = std::get_if<RoundFormed>(&news)) {
      EXPECT_EQ(agent.state, Agent::State::joins);
      EXPECT_GT(formed->round, agent.round);
      EXPECT_LT(formed->rank, NodeRank(formed->nnodes));
      EXPECT_TRUE(formed->assignment);
      agent = {Agent::State::in, formed->round};
      job_.stay(from, formed->round);
    } else {
      EXPECT_NE(std::get_if<RoundBroken>(&news), nullptr);
      EXPECT_EQ(agent.state, Agent::State::in);
      agent.state = Agent::State::out;
    }
  }

  Random random_;
  MembershipDriver job_;
  std::vector<Agent> agents_;
};

TEST(MembershipModel, WhoeverLivesAndWantsInComesIn) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    LaunchNodes nodes(seed, 1 + static_cast<int>(seed % 3), 3 + static_cast<int>(seed % 2));
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) nodes.act();
    nodes.settle();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace launch::membership_model_test
