// Ten thousand hosts on one clock: a head and its hosts, of which some are dead or may start no others. Each login
// takes a second, a dead host ten; everything else is at once.
#include "launch/core/hosts/head.hpp"
#include "launch/core/hosts/host_tree.hpp"

#include "head_driver.hpp"

#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::hosts_tree_walk_test {

using namespace std::chrono_literals;
using heads::lost_to;
using heads::plan_of;
using heads::ready_with;

constexpr int hosts = 10'000;
constexpr int fanout = 64;
constexpr Duration login = 1s;
constexpr Duration dead_login = 10s;

HeadPlan tree() {
  HeadPlan plan = plan_of(hosts);
  plan.fanout = fanout;
  const auto starters = starters_of(hosts, fanout);
  for (std::size_t node = 0; node < starters.size(); ++node) plan.nodes[node].starter = starters[node];
  return plan;
}

class Cluster {
 public:
  std::set<int> dead;
  std::set<int> locked;  // may log in nowhere
  std::set<int> dies;    // when it has been asked
  int most_logins = 0;   // of the head, at the same time
  int head_logins = 0;   // in all
  bool runs = false;
  std::vector<std::string> said;
  Time now{1h};

  explicit Cluster(HeadPlan plan) : head_(std::move(plan), 1) {}

  // Until all nodes run or the head has finished; how long that took.
  Duration run() {
    const Time begin = now;
    act(head_.start(now));
    while (!over_ && !events_.empty()) {
      const auto next = events_.begin();
      now = next->first;
      const auto happen = std::move(next->second);
      events_.erase(next);
      happen();
    }
    return now - begin;
  }

 private:
  void act(const HeadActions& actions) {
    for (const HeadAction& action : actions) {
      if (const auto* one = std::get_if<ConnectHost>(&action)) connect(*one);
      if (const auto* one = std::get_if<TellHost>(&action)) hear(*one);
      if (const auto* one = std::get_if<SayLine>(&action)) said.push_back(one->text);
      if (std::holds_alternative<FinishHead>(action)) over_ = true;
    }
  }

  void at(Time when, std::function<void()> happen) { events_.emplace(when, std::move(happen)); }

  void connect(const ConnectHost& action) {
    const int node = action.node;
    const bool by_head = action.starter == started_by_head;
    if (by_head) ++head_logins;
    if (by_head) most_logins = std::max(most_logins, ++logins_);
    const auto done = [this, by_head] { logins_ -= by_head ? 1 : 0; };
    if (dead.count(node) > 0) {
      at(now + dead_login, [this, node, done] {
        done();
        act(head_.on_lost(lost_to("ssh: connect to host n port 22: Connection timed out\n"), node, now));
      });
    } else if (!by_head && locked.count(action.starter) > 0) {
      at(now + login, [this, node] { act(head_.on_lost(lost_to("n: Permission denied (publickey).\n"), node, now)); });
    } else {
      at(now + login, [this, node, done, starter = action.starter] {
        done();
        if (gone_.count(starter) > 0) return act(head_.on_lost(lost_to(""), node, now));
        act(head_.on_greeting(node, {host_protocol, "1.4", 4711, "h"}, now));
      });
    }
  }

  void hear(const TellHost& told) {
    const int node = told.node;
    if (std::holds_alternative<NodeJob>(told.message) && dies.count(node) > 0) {
      gone_.insert(node);
      at(now + 500ms, [this, node] { act(head_.on_lost(lost_to(""), node, now)); });
    } else if (std::holds_alternative<NodeJob>(told.message)) {
      at(now, [this, node] { act(head_.on_message(node, ready_with({"10.0.0.1"}, std::to_string(node)), now)); });
    } else if (std::holds_alternative<ReachQuestion>(told.message)) {
      at(now, [this, node] { act(head_.on_message(node, ReachAnswer{{""}}, now)); });
    } else if (std::holds_alternative<NodeGo>(told.message)) {
      runs = over_ = true;
    }
  }

  Head head_;
  std::multimap<Time, std::function<void()>> events_;
  std::set<int> gone_;
  int logins_ = 0;
  bool over_ = false;
};

TEST(HostsTreeWalk, TenThousandHostsAreThereAfterFourLogins) {
  Cluster cluster(tree());
  const Duration taken = cluster.run();
  EXPECT_TRUE(cluster.runs);
  EXPECT_EQ(taken, 4 * login) << "two windows of the head, and two of each host that it starts";
  EXPECT_EQ(cluster.head_logins, 100);
  EXPECT_EQ(cluster.most_logins, fanout);
}

TEST(HostsTreeWalk, WithDeadStartersAllOthersAreAskedAndTheDeadAreNamed) {
  Cluster cluster(tree());
  cluster.dead = {3, 57, 99, 4'711};
  const Duration taken = cluster.run();
  EXPECT_FALSE(cluster.runs);
  EXPECT_THAT(cluster.said, testing::ElementsAre(testing::HasSubstr("n[4,58,100,4712]: no answer on port 22"),
                                                 testing::HasSubstr("4 of 10000 hosts cannot take part")));
  // 99 hosts of each dead starter, and the dead host that is nobody's starter once more.
  EXPECT_EQ(cluster.head_logins, 100 + 3 * 99 + 1);
  EXPECT_LE(taken, 2 * login + 2 * dead_login + 6 * login);
}

TEST(HostsTreeWalk, StartersWithoutKeysCostTimeAndNothingElse) {
  Cluster cluster(tree());
  for (int node = 0; node < 100; ++node) cluster.locked.insert(node);
  const Duration taken = cluster.run();
  EXPECT_TRUE(cluster.runs);
  EXPECT_EQ(cluster.head_logins, hosts);
  EXPECT_EQ(cluster.most_logins, fanout);
  EXPECT_LE(taken, 3 * login + (hosts + fanout) / fanout * login) << "as if there were no tree";
}

TEST(HostsTreeWalk, StartersThatDieOnTheWayAreNamedToo) {
  Cluster cluster(tree());
  cluster.dies = {0, 50};
  cluster.run();
  EXPECT_FALSE(cluster.runs);
  EXPECT_THAT(cluster.said.front(), testing::StartsWith("n[1,51]: ")) << "their hosts were started by the head";
  EXPECT_EQ(cluster.head_logins, 100 + 2 * 99);
}

}  // namespace launch::hosts_tree_walk_test
