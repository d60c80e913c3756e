#include "launch/core/store_table.hpp"

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
  void drop(ConnectionId connection, bool silent = false) { table.drop(connection, silent, pushes); }

  StoreTable table;
  std::vector<Push> pushes;
};

TEST(StoreTableWills, AWillIsDoneWhenItsConnectionIsGone) {
  Store store;
  EXPECT_EQ(store.ask(7, LeaveWillRequest{"why", "closed", "silent", ""}), "\0"s);
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
  store.ask(7, LeaveWillRequest{"why", "closed", "silent", ""});
  store.drop(7, true);
  EXPECT_EQ(store.table.get("why"), "silent");
}

TEST(StoreTableWills, AWillOverwritesNothingAndCanBeTakenBack) {
  Store store;
  store.ask(1, SetRequest{"why", "known"});
  store.ask(7, LeaveWillRequest{"why", "closed", "silent", ""});
  store.drop(7);
  EXPECT_EQ(store.table.get("why"), "known");
  store.ask(8, LeaveWillRequest{"other", "closed", "silent", ""});
  EXPECT_EQ(store.ask(8, LeaveWillRequest{"", "", "", ""}), "\0"s);
  store.drop(8);
  EXPECT_EQ(store.table.get("other"), std::nullopt);
}

TEST(StoreTableWills, AWillMarksThatItsOwnerHasGone) {
  Store store;
  store.ask(1, SetRequest{"why", "known"});
  store.ask(7, LeaveWillRequest{"why", "closed", "silent", "account/7"});
  store.ask(8, LeaveWillRequest{"why", "closed", "silent", "account/8"});
  store.ask(1, SetRequest{"account/8", "told"});
  store.drop(7, true);
  store.drop(8);
  EXPECT_EQ(store.table.get("account/7"), "gone") << "also where the reason is known already";
  EXPECT_EQ(store.table.get("account/8"), "told");
}

}  // namespace launch::store_table_will_test
