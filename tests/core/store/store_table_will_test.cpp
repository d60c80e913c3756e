#include "launch/core/store/store_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::store_table_will_test {

using namespace std::string_literals;

// A table, and who was woken.
struct Store {
  std::string ask(ConnectionId from, const Request& request) {
    std::string reply;
    EXPECT_TRUE(table.apply(from, request, reply, pushes));
    return reply;
  }
  std::string leave(ConnectionId from, const Will& will) { return ask(from, LeaveWillRequest{to_json(will)}); }
  void drop(ConnectionId connection, bool silent = false) { table.drop(connection, silent, pushes); }

  StoreTable table;
  std::vector<Push> pushes;
};

Will word(const std::string& key, std::vector<std::string> gone = {}) {
  return {{{key, "closed", "silent"}}, std::move(gone), {}};
}

// Of the agent `holder` that claims "claim".
Will of_a_claim(const std::string& holder) {
  Will will = word("why", {"gone"});
  will.claim = Will::Claim{"claim", holder, "begun", {"role"}};
  return will;
}

TEST(StoreTableWills, AWillIsDoneWhenItsConnectionIsGone) {
  Store store;
  EXPECT_EQ(store.leave(7, word("why")), "\0"s);
  store.ask(7, WaitRequest{{"why"}});
  store.ask(1, WaitRequest{{"why"}});
  EXPECT_TRUE(store.table.has_will(7));
  store.drop(7);
  ASSERT_EQ(store.pushes.size(), 1U);
  EXPECT_EQ(store.pushes[0].to, 1U);
  EXPECT_EQ(store.pushes[0].bytes, "\0"s);
  EXPECT_EQ(store.table.get("why"), "closed");
  EXPECT_EQ(store.table.wills(), 0U);
}

TEST(StoreTableWills, AWillSaysWhatTheConnectionDiedOf) {
  Store store;
  store.leave(7, word("why"));
  store.drop(7, true);
  EXPECT_EQ(store.table.get("why"), "silent");
}

TEST(StoreTableWills, AWillOverwritesNothingAndCanBeTakenBack) {
  Store store;
  store.ask(1, SetRequest{"why", "known"});
  store.leave(7, word("why"));
  store.drop(7);
  EXPECT_EQ(store.table.get("why"), "known");
  store.leave(8, word("other"));
  EXPECT_EQ(store.leave(8, {}), "\0"s);
  store.drop(8);
  EXPECT_EQ(store.table.get("other"), std::nullopt);
}

TEST(StoreTableWills, WhatHasComeToItsEndIsNotSpoiledByALaterLoss) {
  for (const bool over : {false, true}) {
    Store store;
    Will will = word("why", {"gone"});
    will.words[0].unless = "over";
    store.leave(7, will);
    if (over) store.ask(1, SetRequest{"over", "1"});
    store.drop(7);
    EXPECT_EQ(store.table.get("why").has_value(), !over);
    EXPECT_TRUE(store.table.get("gone"));
  }
}

TEST(StoreTableWills, AWillMarksThatItsOwnerHasGone) {
  Store store;
  store.ask(1, SetRequest{"why", "known"});
  store.leave(7, word("why", {"account/7"}));
  store.leave(8, word("why", {"account/8"}));
  store.ask(1, SetRequest{"account/8", "told"});
  store.drop(7, true);
  store.drop(8);
  EXPECT_EQ(store.table.get("account/7"), "gone") << "also where the reason is known already";
  EXPECT_EQ(store.table.get("account/8"), "told");
}

TEST(StoreTableWills, WhatIsNoWillClosesTheConnection) {
  Store store;
  std::string reply;
  EXPECT_FALSE(store.table.apply(7, LeaveWillRequest{"{}"}, reply, store.pushes));
  EXPECT_FALSE(store.table.has_will(7));
}

TEST(StoreTableWills, UntilTheJobHasBegunALostNodeHasNeverCome) {
  for (const bool silent : {false, true}) {
    Store store;
    store.leave(7, of_a_claim("agent 1"));
    store.ask(3, MultiSetRequest{{{"claim", "agent 1"}, {"role", "{}"}, {"other", "{}"}}});
    store.drop(7, silent);
    EXPECT_EQ(store.table.size(), 1U) << "only the other node's key is left";
    EXPECT_EQ(store.table.get("other"), "{}");
  }
}

TEST(StoreTableWills, OnceTheJobHasBegunTheOthersAreToldOfALostNode) {
  Store store;
  store.leave(7, of_a_claim("agent 1"));
  store.ask(3, MultiSetRequest{{{"claim", "agent 1"}, {"role", "{}"}, {"begun", "1"}}});
  store.drop(7);
  EXPECT_EQ(store.table.get("why"), "closed");
  EXPECT_EQ(store.table.get("gone"), "gone");
  EXPECT_EQ(store.table.get("claim"), "agent 1");
  EXPECT_EQ(store.table.get("role"), "{}");
}

TEST(StoreTableWills, TheWillOfAStrangerWhoseRankAnotherHasIsVoid) {
  for (const bool begun : {false, true}) {
    Store store;
    store.ask(3, MultiSetRequest{{{"claim", "agent 1"}, {"role", "{}"}}});
    if (begun) store.ask(3, SetRequest{"begun", "1"});
    store.leave(7, of_a_claim("its twin"));
    store.drop(7);
    EXPECT_EQ(store.table.get("why"), std::nullopt);
    EXPECT_EQ(store.table.get("claim"), "agent 1");
    EXPECT_EQ(store.table.get("role"), "{}");
  }
}

TEST(StoreTableWills, WhoComesBackOnAnotherConnectionIsNotLostWithTheFirst) {
  Store store;
  store.leave(7, of_a_claim("agent 1"));
  store.leave(8, of_a_claim("agent 2"));
  store.ask(3, MultiSetRequest{{{"claim", "agent 1"}, {"role", "{}"}}});
  store.leave(9, of_a_claim("agent 1"));
  EXPECT_TRUE(store.table.has_will(7)) << "its silence is still noticed";
  store.drop(7, true);
  EXPECT_EQ(store.table.get("claim"), "agent 1");
  store.drop(9);
  EXPECT_EQ(store.table.get("claim"), std::nullopt);
  EXPECT_EQ(store.table.get("role"), std::nullopt);
}

}  // namespace launch::store_table_will_test
