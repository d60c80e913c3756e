#include "agent_store_driver.hpp"

namespace launch::agent_store_test {

// n1 to n3 are in a round; n1 hosts the store.
struct Majority : Store {
  explicit Majority(NodeLimits of_job = {3, 3}) : limits(of_job) {
    for (const ConnectionId node : {1U, 2U, 3U}) say(node, Wish::join, -1);
    for (const ConnectionId node : {1U, 2U, 3U}) {
      (void)pushed(node);
      say(node, Wish::stay, 0);
    }
  }
  std::string say(ConnectionId from, Wish wish, std::int64_t round) {
    return say(from, wish, round, "n" + std::to_string(from), false);
  }
  std::string say(ConnectionId from, Wish wish, std::int64_t round, const std::string& name, bool anew) {
    Attendance said = *parse_attendance(attendance(wish, name, round));
    said.anew = anew;
    said.nodes = limits;
    said.hosts = from == 1;
    said.lease = 6s;
    return ask(from, AttendRequest{key, to_json(said)});
  }
  std::string beat(ConnectionId from) { return ask(from, PingRequest{beat_nonce}); }
  std::string read(ConnectionId from) { return ask(from, PingRequest{receipt_nonce}); }
  static std::string word(std::uint32_t nonce) {
    std::string bytes;
    append_u32(bytes, nonce);
    return bytes;
  }

  NodeLimits limits;
};

TEST(AgentStoreMajority, SaysThatARoundIsSettledWhenAllKnowIt) {
  Majority job;
  EXPECT_EQ(job.get(settled_key(key, 0)), "1");
}

TEST(AgentStoreMajority, HoldsBackWhatMembersAskForUntilEnoughOfThemHaveReadSomething) {
  Majority job;
  job.time += 60s;  // the host stood still
  EXPECT_EQ(job.beat(1), "") << "the agent of the host itself";
  EXPECT_EQ(job.beat(3), "");
  EXPECT_EQ(job.pushed(3), Majority::word(held_nonce)) << "it is told to wait";
  EXPECT_EQ(job.ask(3, CheckRequest{{"a"}}), "");
  EXPECT_EQ(job.pushed(3), "") << "once, until it says that it has read that";
  EXPECT_EQ(job.ask(torchrun, CheckRequest{{"a"}}).size(), 1U) << "it is no member";
  job.time += 1s;
  const std::string held = job.read(3);
  EXPECT_EQ(held.size(), 5U) << "two of three have read something";
  EXPECT_EQ(held.substr(0, 4), Majority::word(beat_nonce)) << "in the order of its requests";
  EXPECT_EQ(job.pushed(1), Majority::word(held_nonce) + Majority::word(beat_nonce));
  EXPECT_EQ(job.beat(2), Majority::word(beat_nonce));
}

TEST(AgentStoreMajority, AnAnswerToOneThatIsNoMemberReleasesNothing) {
  Majority job;
  job.time += 60s;
  EXPECT_EQ(job.beat(1), "");
  EXPECT_EQ(job.say(4, Wish::join, -1), "");
  EXPECT_EQ(job.beat(4), Majority::word(beat_nonce)) << "a spare";
  EXPECT_EQ(job.pushed(1), Majority::word(held_nonce)) << "and no more than that";
}

TEST(AgentStoreMajority, OneThatComesBackFromAnotherStoreHasNoRoundHere) {
  Majority job;
  job.store.drop(3, true, job.instant(), job.pushes);
  EXPECT_EQ(job.say(5, Wish::join, -1, "n3", true), "") << "it is not told of the round that formed before";
}

TEST(AgentStoreMajority, ANodeThatHasLeftDoesNotCount) {
  Majority job({1, 3});
  (void)job.say(3, Wish::leave, 0);
  job.store.drop(3, false, job.instant(), job.pushes);
  job.store.drop(2, true, job.instant(), job.pushes);
  const std::string news = job.say(1, Wish::join, 0);
  EXPECT_NE(news.find("formed"), news.npos) << "half of the two that may live, with the lowest rank: " << news;
}

TEST(AgentStoreMajority, TellsThemAgainWhileTheyWait) {
  Majority job;
  job.time += 60s;
  EXPECT_EQ(job.beat(3), "");
  (void)job.pushed(3);
  job.time += 60s;
  EXPECT_EQ(job.read(3), "") << "it has read that a minute ago";
  ASSERT_LE(job.store.deadline(), job.time);
  job.store.on_deadline(job.instant(), job.pushes);
  EXPECT_EQ(job.pushed(3), Majority::word(held_nonce));
  job.time += 1s;
  EXPECT_EQ(job.read(3), Majority::word(beat_nonce));
}

TEST(AgentStoreMajority, AReceiptThatNobodyWaitsForIsPassedOver) {
  Majority job;
  EXPECT_EQ(job.read(3), "");
  EXPECT_TRUE(job.status);
  job.time += 60s;
  EXPECT_EQ(job.read(3), "");
  EXPECT_EQ(job.beat(3), "");
}

}  // namespace launch::agent_store_test
