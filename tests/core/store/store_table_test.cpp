#include "launch/core/store/store_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace launch::store_table_test {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Pushed = std::pair<ConnectionId, std::string>;

const std::string stop = "\0"s;
const std::string cancelled = "\1"s;

std::string number(std::int64_t value) {
  std::string bytes;
  append_i64(bytes, value);
  return bytes;
}

std::string bytes_of(std::string_view text) {
  std::string bytes;
  append_bytes(bytes, text);
  return bytes;
}

// A table and what it said: the reply is returned, pushes are kept until taken.
class Store {
 public:
  std::string ask(ConnectionId from, const Request& request) {
    std::string reply;
    const Status status = table.apply(from, request, reply, pushes_);
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
    return reply;
  }

  std::string refusal(ConnectionId from, const Request& request) {
    std::string reply = "before";
    const Status status = table.apply(from, request, reply, pushes_);
    EXPECT_EQ(reply, "before");
    if (status) return "";
    EXPECT_EQ(status.error().code, ErrorCode::protocol);
    return status.error().message;
  }

  std::vector<Pushed> pushed() {
    std::vector<Pushed> taken;
    for (Push& push : pushes_) taken.emplace_back(push.to, std::move(push.bytes));
    pushes_.clear();
    return taken;
  }

  void drop(ConnectionId connection, bool silent = false) { table.drop(connection, silent, pushes_); }

  StoreTable table;

 private:
  std::vector<Push> pushes_;
};

TEST(StoreTable, SetIsSilentAndGetReadsIt) {
  Store store;
  EXPECT_EQ(store.ask(1, SetRequest{"k", "one"}), "");
  EXPECT_EQ(store.ask(2, GetRequest{"k"}), bytes_of("one"));
  EXPECT_EQ(store.ask(1, SetRequest{"k", ""}), "");
  EXPECT_EQ(store.ask(2, GetRequest{"k"}), bytes_of(""));
  EXPECT_EQ(store.table.get("k"), "");
  EXPECT_EQ(store.table.get("other"), std::nullopt);
  EXPECT_EQ(store.table.size(), 1U);
}

TEST(StoreTable, GetOfAMissingKeyIsEmptyAndCreatesNothing) {
  Store store;
  EXPECT_EQ(store.ask(1, GetRequest{"k"}), bytes_of(""));
  EXPECT_EQ(store.ask(1, MultiGetRequest{{"k", "l"}}), bytes_of("") + bytes_of(""));
  EXPECT_EQ(store.ask(1, CountKeysRequest{}), number(0));
}

TEST(StoreTable, CompareSetAnswersWhatTheKeyHoldsOrWasExpectedToHold) {
  const struct {
    std::optional<std::string> present;
    std::string expected, reply;
    std::optional<std::string> after;
  } cases[] = {
      {std::nullopt, "", "new", "new"}, {std::nullopt, "old", "old", std::nullopt},
      {"old", "old", "new", "new"},     {"other", "old", "other", "other"},
      {"other", "", "other", "other"},  {"", "", "new", "new"},
  };
  for (const auto& [present, expected, reply, after] : cases) {
    Store store;
    if (present) store.ask(1, SetRequest{"k", *present});
    EXPECT_EQ(store.ask(1, CompareSetRequest{"k", expected, "new"}), bytes_of(reply));
    EXPECT_EQ(store.table.get("k"), after);
  }
}

TEST(StoreTable, AddKeepsDecimalText) {
  Store store;
  EXPECT_EQ(store.ask(1, AddRequest{"n", 0}), number(0));
  EXPECT_EQ(store.table.get("n"), "0");
  EXPECT_EQ(store.ask(1, AddRequest{"n", -2}), number(-2));
  EXPECT_EQ(store.table.get("n"), "-2");
}

TEST(StoreTable, AddReadsTheLeadingNumberOfAnyValue) {
  constexpr auto max = std::numeric_limits<std::int64_t>::max();
  constexpr auto min = std::numeric_limits<std::int64_t>::min();
  const struct {
    std::string value;
    std::int64_t amount;
    std::optional<std::int64_t> sum;
  } cases[] = {
      {"5", 1, 6},
      {" \t\n\v\f\r7x", 1, 8},
      {"+3", 1, 4},
      {"-3", 1, -2},
      {"12.9", 0, 12},
      {"0x10", 1, 1},
      {"", 1, {}},
      {"  ", 1, {}},
      {"x5", 1, {}},
      {"+-5", 1, {}},
      {"-", 1, {}},
      {"+", 1, {}},
      {"- 5", 1, {}},
      {"\0"s, 1, {}},
      {"1\0"s, 1, 2},
      {"9223372036854775808", 0, {}},
      {"9223372036854775807", 1, min},
      {"-9223372036854775808", -1, max},
  };
  for (const auto& [value, amount, sum] : cases) {
    Store store;
    store.ask(1, SetRequest{"n", value});
    if (sum) {
      EXPECT_EQ(store.ask(1, AddRequest{"n", amount}), number(*sum)) << value;
      EXPECT_EQ(store.table.get("n"), std::to_string(*sum));
    } else {
      EXPECT_EQ(store.refusal(1, AddRequest{"n", amount}), "add to key n: its value is not a number") << value;
      EXPECT_EQ(store.table.get("n"), value);
    }
  }
}

TEST(StoreTable, TheRestOfTheSimpleRequests) {
  Store store;
  EXPECT_EQ(store.ask(1, MultiSetRequest{{{"a", "1"}, {"b", "2"}, {"a", "3"}}}), "");
  EXPECT_EQ(store.ask(1, MultiGetRequest{{"b", "a", "a"}}), bytes_of("2") + bytes_of("3") + bytes_of("3"));
  EXPECT_EQ(store.ask(1, AppendRequest{"a", "4"}), "");
  EXPECT_EQ(store.ask(1, AppendRequest{"c", "5"}), "");
  EXPECT_EQ(store.ask(1, MultiGetRequest{{"a", "c"}}), bytes_of("34") + bytes_of("5"));
  EXPECT_EQ(store.ask(1, CountKeysRequest{}), number(3));
  EXPECT_EQ(store.ask(1, DeleteKeyRequest{"a"}), number(1));
  EXPECT_EQ(store.ask(1, DeleteKeyRequest{"a"}), number(0));
  EXPECT_EQ(store.ask(1, CheckRequest{{"b", "c"}}), "\0"s);
  EXPECT_EQ(store.ask(1, CheckRequest{{"b", "a"}}), "\1"s);
  EXPECT_EQ(store.ask(1, CheckRequest{{}}), "\0"s);
  EXPECT_EQ(store.ask(1, PingRequest{0x01020304}), "\4\3\2\1");
  EXPECT_EQ(store.ask(1, MultiSetRequest{{}}), "");
  EXPECT_EQ(store.ask(1, MultiGetRequest{{}}), "");
}

TEST(StoreTable, ListKeysNamesEveryKeyOnceAndNoQueue) {
  Store store;
  store.ask(1, SetRequest{"/a", "1"});
  store.ask(1, AddRequest{"init/", 1});
  store.ask(1, QueuePushRequest{"q", "x"});
  const std::string reply = store.ask(1, ListKeysRequest{});
  EXPECT_THAT(reply, testing::AnyOf(number(2) + bytes_of("/a") + bytes_of("init/"),
                                    number(2) + bytes_of("init/") + bytes_of("/a")));
}

TEST(StoreTable, ValidateIsSilentAndAWrongMagicIsRefused) {
  Store store;
  EXPECT_EQ(store.ask(1, ValidateRequest{validate_magic}), "");
  EXPECT_NE(store.refusal(1, ValidateRequest{validate_magic + 1}), "");
}

TEST(StoreTable, WaitForWhatIsThereIsAnsweredAtOnce) {
  Store store;
  store.ask(1, SetRequest{"a", ""});
  store.ask(1, QueuePushRequest{"q", "x"});
  EXPECT_EQ(store.ask(2, WaitRequest{{"a", "q", "a"}}), stop);
  EXPECT_EQ(store.ask(2, WaitRequest{{}}), stop);
  EXPECT_EQ(store.table.waiting_connections(), 0U);
}

TEST(StoreTable, EveryWayToMakeAKeyWakesItsWaiters) {
  const Request makers[] = {SetRequest{"k", "v"},    CompareSetRequest{"k", "", "v"}, AddRequest{"k", 1},
                            AppendRequest{"k", "v"}, MultiSetRequest{{{"k", "v"}}},   QueuePushRequest{"k", "v"},
                            BarrierRequest{"k", 1}};
  for (const Request& maker : makers) {
    Store store;
    EXPECT_EQ(store.ask(7, WaitRequest{{"k"}}), "");
    store.ask(1, maker);
    EXPECT_THAT(store.pushed(), ElementsAre(Pushed{7, stop})) << maker.index();
    EXPECT_EQ(store.table.waiting_connections(), 0U);
    EXPECT_EQ(store.table.awaited_keys(), 0U);
    store.ask(1, maker);
    EXPECT_THAT(store.pushed(), IsEmpty()) << "one answer for one WAIT";
  }
}

TEST(StoreTable, ACompareSetThatStoresNothingWakesNobody) {
  Store store;
  store.ask(7, WaitRequest{{"k"}});
  store.ask(1, CompareSetRequest{"k", "something", "v"});
  EXPECT_THAT(store.pushed(), IsEmpty());
}

TEST(StoreTable, AWaitForSeveralKeysIsAnsweredByTheLastOfThem) {
  Store store;
  store.ask(1, SetRequest{"there", "x"});
  EXPECT_EQ(store.ask(7, WaitRequest{{"a", "b", "a", "there"}}), "");
  store.ask(1, SetRequest{"a", ""});
  store.ask(1, DeleteKeyRequest{"a"});  // it came, and is not awaited again
  EXPECT_THAT(store.pushed(), IsEmpty());
  store.ask(1, SetRequest{"b", ""});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{7, stop}));
}

TEST(StoreTable, WaitersAreWokenInTheOrderTheyCame) {
  Store store;
  for (const ConnectionId waiter : {9U, 3U, 5U}) store.ask(waiter, WaitRequest{{"k"}});
  store.ask(1, SetRequest{"k", ""});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{9, stop}, Pushed{3, stop}, Pushed{5, stop}));
}

TEST(StoreTable, AnsweringTheConnectionsOwnWaitComesBeforeTheReply) {
  Store store;
  store.ask(7, WaitRequest{{"k"}});
  EXPECT_EQ(store.ask(7, GetRequest{"other"}), bytes_of("")) << "served while the WAIT is pending";
  EXPECT_EQ(store.ask(7, AddRequest{"k", 1}), stop + number(1));
  EXPECT_THAT(store.pushed(), IsEmpty());
}

TEST(StoreTable, CancelForgetsTheWaitAndAlwaysAnswers) {
  Store store;
  EXPECT_EQ(store.ask(7, CancelWaitRequest{}), cancelled);
  store.ask(7, WaitRequest{{"a", "b", "a"}});
  store.ask(8, WaitRequest{{"a"}});
  EXPECT_EQ(store.ask(7, CancelWaitRequest{}), cancelled);
  store.ask(1, MultiSetRequest{{{"a", ""}, {"b", ""}}});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{8, stop}));
}

TEST(StoreTable, ASecondWaitReplacesTheFirst) {
  Store store;
  store.ask(7, WaitRequest{{"a"}});
  store.ask(7, WaitRequest{{"b"}});
  store.ask(1, SetRequest{"a", ""});
  EXPECT_THAT(store.pushed(), IsEmpty());
  store.ask(1, SetRequest{"b", ""});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{7, stop}));

  store.ask(7, WaitRequest{{"c"}});
  EXPECT_EQ(store.ask(7, WaitRequest{{"a"}}), stop);
  store.ask(1, SetRequest{"c", ""});
  EXPECT_THAT(store.pushed(), IsEmpty());
}

TEST(StoreTable, DropForgetsWaitsAndWatchesButNoKeys) {
  Store store;
  store.ask(7, SetRequest{"kept", "x"});
  store.ask(7, WaitRequest{{"a", "b"}});
  store.ask(7, WatchKeyRequest{"kept"});
  store.drop(7);
  store.drop(8);
  EXPECT_EQ(store.table.waiting_connections() + store.table.awaited_keys() + store.table.watched_keys(), 0U);
  store.ask(1, MultiSetRequest{{{"a", ""}, {"b", ""}, {"kept", "y"}}});
  EXPECT_THAT(store.pushed(), IsEmpty());
  EXPECT_EQ(store.table.size(), 3U);
}

TEST(StoreTable, QueuesAreFirstInFirstOut) {
  Store store;
  EXPECT_EQ(store.ask(1, QueuePopRequest{"q"}), number(0));
  EXPECT_EQ(store.ask(1, QueueLengthRequest{"q"}), number(0));
  store.ask(1, QueuePushRequest{"q", "one"});
  store.ask(1, QueuePushRequest{"q", ""});
  EXPECT_EQ(store.ask(1, QueueLengthRequest{"q"}), number(2));
  EXPECT_EQ(store.ask(1, QueuePopRequest{"q"}), number(2) + bytes_of("one"));
  EXPECT_EQ(store.ask(1, QueuePopRequest{"q"}), number(1) + bytes_of(""));
  EXPECT_EQ(store.ask(1, QueuePopRequest{"q"}), number(0));
  EXPECT_EQ(store.ask(1, CheckRequest{{"q"}}), "\1"s);
  EXPECT_EQ(store.table.size(), 0U);
}

TEST(StoreTable, OnePushAnswersOneWaiter) {
  Store store;
  for (const ConnectionId waiter : {7U, 8U}) store.ask(waiter, WaitRequest{{"q"}});
  store.ask(1, QueuePushRequest{"q", "x"});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{7, stop}));
  store.ask(1, QueuePushRequest{"q", "y"});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{8, stop}));
}

TEST(StoreTable, APushCountsForWaitersOfMoreAndGoesOnToOneItCanAnswer) {
  Store store;
  store.ask(7, WaitRequest{{"q", "k", "q"}});
  store.ask(8, WaitRequest{{"q"}});
  store.ask(1, QueuePushRequest{"q", "x"});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{8, stop}));
  store.ask(1, QueuePushRequest{"q", "y"});
  EXPECT_THAT(store.pushed(), IsEmpty());
  store.ask(1, SetRequest{"k", ""});
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{7, stop}));
}

TEST(StoreTable, ABarrierOpensForAllWithItsLastMember) {
  Store store;
  EXPECT_EQ(store.ask(1, BarrierRequest{"b", 3}), "");
  EXPECT_EQ(store.ask(2, BarrierRequest{"b", 3}), "");
  EXPECT_EQ(store.ask(3, BarrierRequest{"b", 3}), stop);
  EXPECT_THAT(store.pushed(), ElementsAre(Pushed{1, stop}, Pushed{2, stop}));
  EXPECT_EQ(store.table.get("b"), "3");
  EXPECT_EQ(store.ask(4, BarrierRequest{"b", 3}), stop) << "the counter is never reset";
  EXPECT_EQ(store.ask(4, BarrierRequest{"c", 0}), stop);
}

TEST(StoreTable, KeepsNoMembers) {
  Store store;
  EXPECT_EQ(store.refusal(2, AttendRequest{"k", "{}"}), "attend to key k: this store keeps no members");
}

TEST(StoreTable, ABarrierThatWasGivenUpStaysCounted) {
  Store store;
  store.ask(1, BarrierRequest{"b", 2});
  EXPECT_EQ(store.ask(1, CancelWaitRequest{}), cancelled);
  EXPECT_EQ(store.ask(1, BarrierRequest{"b", 2}), stop);
  EXPECT_THAT(store.pushed(), IsEmpty());
  store.ask(1, SetRequest{"text", "x"});
  EXPECT_NE(store.refusal(1, BarrierRequest{"text", 2}), "");
}

TEST(StoreTable, WatchersAreToldOfEveryChange) {
  Store store;
  EXPECT_EQ(store.ask(7, WatchKeyRequest{"k"}), "\3");
  EXPECT_EQ(store.ask(7, WatchKeyRequest{"k"}), "\3") << "twice is as good as once";
  const auto event = [](char type, std::string_view before, std::string_view after) {
    return Pushed{7, type + bytes_of("k") + bytes_of(before) + bytes_of(after)};
  };
  store.ask(1, SetRequest{"k", "1"});
  store.ask(1, AddRequest{"k", 2});
  store.ask(1, CompareSetRequest{"k", "nope", "x"});
  store.ask(1, CompareSetRequest{"k", "3", "c"});
  store.ask(1, AppendRequest{"k", "d"});
  store.ask(1, DeleteKeyRequest{"k"});
  store.ask(1, SetRequest{"other", "x"});
  EXPECT_THAT(store.pushed(), ElementsAre(event(1, "", "1"), event(0, "1", "3"), event(0, "3", "c"),
                                          event(0, "c", "cd"), event(2, "cd", "")));
}

TEST(StoreTable, AWatcherThatChangesTheKeyIsToldInItsReply) {
  Store store;
  store.ask(7, WatchKeyRequest{"k"});
  EXPECT_EQ(store.ask(7, AddRequest{"k", 1}), "\1" + bytes_of("k") + bytes_of("") + bytes_of("1") + number(1));
  EXPECT_THAT(store.pushed(), IsEmpty());
}

TEST(StoreTable, WatchesOfAConnectionHaveALimit) {
  Store store;
  for (std::size_t key = 0; key < max_keys; ++key) store.ask(7, WatchKeyRequest{std::to_string(key)});
  EXPECT_NE(store.refusal(7, WatchKeyRequest{"one more"}), "");
}

TEST(StoreTable, TheReplyToOneRequestIsBounded) {
  Store store;
  store.ask(1, SetRequest{"big", std::string(max_payload_bytes, 'x')});
  const MultiGetRequest fits{std::vector<std::string_view>(max_reply_bytes / max_payload_bytes - 1, "big")};
  EXPECT_EQ(store.ask(1, fits).size(), fits.keys.size() * (8 + max_payload_bytes));
  const MultiGetRequest too_much{std::vector<std::string_view>(max_reply_bytes / max_payload_bytes, "big")};
  EXPECT_NE(store.refusal(1, too_much).find("over the limit of 268435456"), std::string::npos);
}

TEST(StoreTable, WhatAChangeTellsItsWatchersIsBoundedAndRefusedBeforeItHappens) {
  Store store;
  const std::string big(max_payload_bytes, 'x');
  for (ConnectionId watcher = 100; watcher < 100 + max_reply_bytes / max_payload_bytes; ++watcher) {
    store.ask(watcher, WatchKeyRequest{"k"});
  }
  EXPECT_NE(store.refusal(1, SetRequest{"k", big}), "");
  EXPECT_EQ(store.table.get("k"), std::nullopt);
  EXPECT_THAT(store.pushed(), IsEmpty());
}

}  // namespace launch::store_table_test
