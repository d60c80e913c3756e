#include "launch/core/session/end_account.hpp"

#include "../../support/configs.hpp"
#include "../../support/talker.hpp"

#include "launch/core/store/keys.hpp"

#include <gtest/gtest.h>

namespace launch::end_account_test {

using namespace play;
using namespace std::chrono_literals;

Account account_of(int node) {
  Account account;
  account.nodes = {node};
  return account;
}

TEST(EndAccount, AllTakesAsLongAsTheWorkersOfAnyNodeMayTake) {
  EXPECT_EQ(most_for_end(static_config(0, 2)), 15s + 5s + 12s);
  Config config = static_config(0, 2);
  config.hooks = {"", "true", 60s};
  EXPECT_EQ(most_for_end(config), 15s + 5s + 60s + 5s + 12s);
  config.hooks.timeout = 0s;
  EXPECT_GT(most_for_workers_end(config), 23h);
}

// Of node 0, which gathers for itself and node 1.
ExchangePlace gathering(Time deadline) { return {.prefix = "job", .others = {NodeRank(1)}, .deadline = deadline}; }

TEST(EndAccount, WithoutAnAnswerItsOwnAccountIsThereAtTheDeadline) {
  TwoTalkers pair;
  EndAccount account;
  const Time deadline = later(pair.events.now(), 30s);
  const auto all =
      pair.first.run(account.share(pair.first.link_to(pair.endpoint), gathering(deadline), account_of(0)), 100s);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->nodes, std::vector<int>{0});
  EXPECT_GE(pair.events.now(), deadline);
}

TEST(EndAccount, NobodyWaitsForOthersThatHaveEndedWell) {
  TwoTalkers pair;
  EndAccount account;
  StoreLink link = pair.first.link_to(pair.endpoint);
  EXPECT_TRUE(*pair.first.run(link.set(all_ended_key("job"), "1", pair.soon())));
  const Time start = pair.events.now();
  EXPECT_TRUE(pair.first.run(account.share(std::move(link), gathering(later(start, 30s)), account_of(0)), 100s));
  EXPECT_LT(pair.events.now() - start, 1s);
}

// Node 0 looks, then the last one ends well, then node 1 hears of a stop and looks; and the other way round.
TEST(EndAccount, NobodyIsWaitedForWhoFindsThatAllHaveEndedWell) {
  for (const bool gathers_first : {true, false}) {
    TwoTalkers pair;
    EndAccount early, late;
    const Time start = pair.events.now();
    const ExchangePlace of_0 = gathering(later(start, 30s));
    const ExchangePlace of_1{
        .prefix = "job", .node_rank = NodeRank(1), .gatherer = NodeRank(0), .deadline = later(start, 30s)};
    StoreLink link = pair.second.link_to(pair.endpoint);
    std::optional<Account> all;
    StoreLink of_early = pair.first.link_to(pair.endpoint);
    const auto wait = [&]() -> Talk<void> {
      all = co_await early.share(std::move(of_early), gathers_first ? of_0 : of_1, account_of(gathers_first ? 0 : 1));
    };
    const auto leave = [&]() -> Talk<bool> {
      (void)co_await link.set(all_ended_key("job"), "1", pair.soon());
      (void)co_await late.share(std::move(link), gathers_first ? of_1 : of_0, account_of(gathers_first ? 1 : 0));
      co_return true;
    };
    Scope waiting(pair.first.stage());
    waiting.start(wait());
    pair.first.act();
    pair.events.run_until([] { return false; }, 100ms);
    EXPECT_TRUE(pair.second.run(leave(), 1s));
    pair.events.run_until([&] { return all.has_value(); }, 3s);
    ASSERT_TRUE(all) << gathers_first;
    EXPECT_EQ(all->nodes, gathers_first ? (std::vector<int>{0, 1}) : std::vector<int>{1});
  }
}

TEST(EndAccount, HurriedItWaitsForNobody) {
  TwoTalkers pair;
  EndAccount account;
  account.hurry();
  const Time start = pair.events.now();
  const auto all = pair.first.run(
      account.share(pair.first.link_to(pair.endpoint), gathering(later(start, 30s)), account_of(0)), 100s);
  ASSERT_TRUE(all);
  EXPECT_LT(pair.events.now() - start, 1s);
}

TEST(EndAccount, NobodyWaitsForANodeThatStaysOut) {
  TwoTalkers pair;
  EndAccount mine, theirs;
  const auto stay_out = [](EndAccount& account, StoreLink link) -> Talk<bool> {
    ExchangePlace place{.prefix = "job", .node_rank = NodeRank(1), .gatherer = NodeRank(0)};
    co_await account.stay_out(std::move(link), std::move(place));
    co_return true;
  };
  EXPECT_TRUE(pair.second.run(stay_out(theirs, pair.second.link_to(pair.endpoint))));
  const Time start = pair.events.now();
  EXPECT_TRUE(
      pair.first.run(mine.share(pair.first.link_to(pair.endpoint), gathering(later(start, 30s)), account_of(0)), 100s));
  EXPECT_LT(pair.events.now() - start, 1s);
}

}  // namespace launch::end_account_test
