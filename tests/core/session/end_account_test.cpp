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
