// What connections make the store hold.
#include "launch/core/store/store_table.hpp"

#include <gtest/gtest.h>

namespace launch::store_table_account_test {

TEST(StoreTable, WhatAConnectionMakesItHoldIsCounted) {
  StoreTable table;
  std::vector<Push> pushes;
  const auto ask = [&](ConnectionId from, const Request& request) {
    std::string reply;
    EXPECT_TRUE(table.apply(from, request, reply, pushes));
  };
  const std::string key(8000, 'k');
  EXPECT_EQ(table.held_for(1), 0U);
  ask(1, WaitRequest{{key, "other"}});
  EXPECT_GE(table.held_for(1), 16000U);
  EXPECT_EQ(table.held_for(2), 0U);
  ask(2, MultiSetRequest{{{key, ""}, {"other", ""}}});
  EXPECT_EQ(table.held_for(1), 0U);
  ask(1, WatchKeyRequest{key});
  const std::size_t once = table.held_for(1);
  EXPECT_GE(once, 16000U);
  ask(1, WatchKeyRequest{key});
  EXPECT_EQ(table.held_for(1), once);
  ask(1, LeaveWillRequest{to_json(Will{{{"will", std::string(5000, 'c'), ""}}, {}, {}})});
  EXPECT_GE(table.held_for(1), once + 5000);
  table.drop(1, false, pushes);
  EXPECT_EQ(table.held_for(1), 0U);
}

}  // namespace launch::store_table_account_test
