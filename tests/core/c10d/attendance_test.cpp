#include "launch/core/c10d/attendance.hpp"

#include "launch/core/base/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace launch::attendance_test {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using Wish = Attendance::Wish;
using Cause = RoundBroken::Cause;

Attendance example(Wish wish = Wish::join) {
  Attendance said{.wish = wish,
                  .node = {"n1", 42, launch_local_id},
                  .member = {.role = "trainer", .local_world_size = 8},
                  .nodes = {2, 16},
                  .last_call = 30s,
                  .silence = 15s,
                  .round = 7,
                  .admits = false,
                  .reason = "why"};
  return said;
}

std::vector<ElasticNews> every_news() {
  return {RoundFormed{.round = 3,
                      .rank = NodeRank(1),
                      .nnodes = 4,
                      .leader = {"n1", 42, launch_local_id},
                      .torchrun = {NodeRank(0), NodeRank(3)}},
          RoundFormed{.leader = {"::1", 0, 0},
                      .assignment = Assignment{.group_world_size = 1, .world_size = 8, .role_world_size = 8},
                      .restarts = 2,
                      .common = {{"--max-restarts", "3"}}},
          RoundBroken{"n2 (pid 1) joins", Cause::change},
          RoundBroken{"", Cause::restart},
          RoundBroken{"gone", Cause::loss, NodeRank(2)},
          RoundWaits{3, true, {}, true},
          RoundWaits{1, false, {}, true, 2, {}, std::chrono::seconds(12)},
          RoundRefused{{ErrorCode::closed, "closed"}, true},
          RoundRefused{{ErrorCode::conflict, "--nnodes"}, false},
          RoundRefused{{ErrorCode::protocol, "no state"}, false},
          RoundRefused{{ErrorCode::timeout, "late"}, false},
          RoundMoved{{{"n1", 42, launch_local_id}, {{"10.0.0.1", 40000}, "of n1"}, 3}},
          RendezvousEnded{}};
}

// What a change of one field makes of it.
bool taken(const char* field, const Json& value) {
  Json json = Json::parse(to_json(example()));
  json[field] = value;
  return parse_attendance(json.dump()).has_value();
}
bool taken_without(const char* field) {
  Json json = Json::parse(to_json(example()));
  json.erase(field);
  return parse_attendance(json.dump()).has_value();
}
bool formed_with(const char* field, const Json& value) {
  Json json = Json::parse(to_json(every_news()[1]));
  json[field] = value;
  return parse_news(json.dump()).has_value();
}

TEST(Attendance, SaysThatItIsDoneIfItIs) {
  Attendance said = example(Wish::stay);
  EXPECT_EQ(to_json(said).find("done"), std::string::npos);
  said.done = true;
  const auto read = parse_attendance(to_json(said));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, said);
  EXPECT_FALSE(taken("done", 1));
}

TEST(Attendance, SaysHowOftenTheJobHasBeenRestartedIfItHas) {
  Attendance said = example();
  EXPECT_EQ(to_json(said).find("restarts"), std::string::npos);
  said.restarts = 3;
  const auto read = parse_attendance(to_json(said));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, said);
  EXPECT_FALSE(taken("restarts", -1));
  EXPECT_FALSE(taken("restarts", 1'000'000'001));
  EXPECT_FALSE(taken("restarts", "3"));
}

TEST(Attendance, EveryWishIsReadAsItWasWritten) {
  for (const Wish wish : {Wish::join, Wish::stay, Wish::look, Wish::leave, Wish::close}) {
    const Attendance said = example(wish);
    const auto read = parse_attendance(to_json(said));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, said);
  }
  Attendance bare = example();
  bare.common = {{"--heartbeat-timeout", "5 s"}, {"--other", "a \"b\""}};
  EXPECT_EQ(*parse_attendance(to_json(bare)), bare);
  bare.common.clear();
  bare.reason.clear();
  bare.round = -1;
  bare.admits = true;
  EXPECT_EQ(*parse_attendance(to_json(bare)), bare);
}

TEST(Attendance, EveryAnswerIsReadAsItWasWritten) {
  for (const ElasticNews& news : every_news()) {
    const auto read = parse_news(to_json(news));
    ASSERT_TRUE(read) << to_json(news);
    EXPECT_EQ(read->index(), news.index());
    EXPECT_EQ(to_json(*read), to_json(news));
  }
  EXPECT_EQ(std::get<RoundFormed>(*parse_news(to_json(every_news()[0]))), std::get<RoundFormed>(every_news()[0]));
  EXPECT_EQ(std::get<RoundFormed>(*parse_news(to_json(every_news()[1]))), std::get<RoundFormed>(every_news()[1]));
}

TEST(Attendance, WhatIsOutOfBoundsIsRefused) {
  for (const char* field :
       {"wish", "node", "role", "workers", "min_nodes", "max_nodes", "last_call", "silence", "round", "admits"}) {
    EXPECT_FALSE(taken_without(field)) << field;
    EXPECT_FALSE(taken(field, nullptr)) << field;
    EXPECT_FALSE(taken(field, Json::array())) << field;
  }
  EXPECT_TRUE(taken_without("reason"));
  EXPECT_FALSE(taken("reason", 1));
  EXPECT_FALSE(taken("wish", "stand"));
  EXPECT_FALSE(taken("workers", 0));
  EXPECT_FALSE(taken("workers", 1.5));
  EXPECT_FALSE(taken("min_nodes", 17));
  EXPECT_FALSE(taken("max_nodes", 1'000'001));
  EXPECT_FALSE(taken("silence", -1));
  EXPECT_FALSE(taken("round", -2));
  EXPECT_FALSE(taken("round", std::numeric_limits<std::uint64_t>::max())) << "which is no -1";
  EXPECT_FALSE(taken("role", std::string(6001, 'r')));
  EXPECT_FALSE(taken("node", Json({{"addr", ""}, {"pid", 1}, {"local_id", 0}})));
  EXPECT_FALSE(taken("node", Json({{"addr", "n1"}, {"pid", 1LL << 31}, {"local_id", 0}}))) << "no state could hold it";
  EXPECT_FALSE(taken("node", Json({{"addr", "n1"}, {"pid", 1}})));
}

TEST(Attendance, AnAnswerOutOfBoundsIsRefused) {
  EXPECT_TRUE(formed_with("rank", 0));
  EXPECT_FALSE(formed_with("rank", 1));
  EXPECT_FALSE(formed_with("nnodes", 0));
  EXPECT_FALSE(formed_with("torchrun", Json({1})));
  EXPECT_FALSE(formed_with("torchrun", Json({1LL << 32})));
  EXPECT_FALSE(formed_with("torchrun", Json({"0"})));
  EXPECT_FALSE(formed_with("leader", "n1"));
  EXPECT_FALSE(formed_with("base_rank", -1));
  EXPECT_FALSE(formed_with("restarts", -1));
  EXPECT_FALSE(formed_with("news", "unheard"));
  EXPECT_FALSE(parse_news("[]"));
  EXPECT_FALSE(parse_news("{}"));
  EXPECT_FALSE(parse_news(R"({"news": "waits", "arrived": -1, "spare": false})"));
  EXPECT_FALSE(parse_news(R"({"news": "refused", "code": "usage", "reason": "", "spare": false})"));
}

TEST(Attendance, AReasonOfAnyBytesArrives) {
  for (const std::string& piece : {std::string("\xff"), std::string("ä"), std::string("€x"), std::string(1, '\0')}) {
    std::string reason;
    while (reason.size() < 5000) reason += piece;
    const auto broken = parse_news(to_json(ElasticNews(RoundBroken{reason, Cause::loss})));
    ASSERT_TRUE(broken) << piece;
    EXPECT_FALSE(std::get<RoundBroken>(*broken).reason.empty());
    Attendance said = example(Wish::leave);
    said.reason = reason;
    EXPECT_TRUE(parse_attendance(to_json(said))) << piece;
    EXPECT_TRUE(parse_news(to_json(ElasticNews(RoundRefused{{ErrorCode::closed, reason}, false})))) << piece;
  }
}

// Read, or refused with a reason; and what is read can be written and read again.
void take_any(const std::string& text) {
  if (const auto said = parse_attendance(text)) {
    EXPECT_EQ(*parse_attendance(to_json(*said)), *said) << text;
  } else {
    EXPECT_EQ(said.error().code, ErrorCode::protocol);
  }
  if (const auto news = parse_news(text)) {
    EXPECT_EQ(to_json(*parse_news(to_json(*news))), to_json(*news)) << text;
  } else {
    EXPECT_EQ(news.error().code, ErrorCode::protocol);
  }
}

TEST(Attendance, ALongOneIsRefusedBeforeItIsParsed) {
  std::string text = to_json(example());
  text.insert(1, std::string(64 * 1024, ' '));
  EXPECT_THAT(parse_attendance(text).error().message, testing::HasSubstr("is over the limit of 65536"));
  text.erase(1, 1024);
  EXPECT_TRUE(parse_attendance(text));
}

TEST(Attendance, GarbageIsRefused) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random.next() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    EXPECT_FALSE(parse_attendance(bytes));
    EXPECT_FALSE(parse_news(bytes));
  }
  take_any(std::string(100'000, '['));
}

TEST(Attendance, WhatIsAlmostRightDoesNoHarm) {
  Random random(2);
  std::vector<std::string> texts = {to_json(example())};
  for (const ElasticNews& news : every_news()) texts.push_back(to_json(news));
  for (int i = 0; i < 5000; ++i) {
    std::string text = texts[random.next() % texts.size()];
    for (std::uint64_t changes = random.next() % 4 + 1; changes > 0 && !text.empty(); --changes) {
      const std::size_t at = random.next() % text.size();
      switch (random.next() % 3) {
        case 0:
          text[at] = static_cast<char>(random.next());
          break;
        case 1:
          text.erase(at, random.next() % 8);
          break;
        default:
          text.insert(at, 1, "0123456789-.\"{}[]:,e"[random.next() % 20]);
          break;
      }
    }
    take_any(text);
  }
}

TEST(AttendanceSuccession, ComesBackAsItWasSaid) {
  LastRound last{2, 7, 4, NodeRank(3), NodeRank(0), {"n0", 7, launch_local_id}, "ab", 2, 1, {}};
  last.line.push_back({NodeRank(1), {"n1", 8, launch_local_id}, {{"10.0.0.1", 4242}, "cd"}});
  Attendance said{.node = {"n3", 9, launch_local_id}, .member = {NodeRank(), "default", 1}};
  said.door = {{"10.0.0.3", 4243}, "ef"};
  said.hosts = true;
  said.comeback = Comeback{last, 3, 2, {NodeRank(1)}, 33s};
  const auto read = parse_attendance(to_json(said));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->door, said.door);
  EXPECT_TRUE(read->hosts);
  EXPECT_EQ(read->comeback, said.comeback);
  EXPECT_EQ(to_json(said).find("lease"), std::string::npos) << "only with --quorum=majority";
  EXPECT_EQ(to_json(said).find("limit"), std::string::npos);
  said.comeback->limit = 44s;
  said.comeback->host_ended = false;
  said.lease = 3s;
  said.anew = true;
  EXPECT_EQ(*parse_attendance(to_json(said)), said);
  const auto refused = parse_news(to_json(ElasticNews(RoundRefused{{ErrorCode::timeout, "few"}, false, false, true})));
  EXPECT_TRUE(std::get<RoundRefused>(*refused).few);
  RoundFormed formed;
  formed.leader = said.node;
  formed.succession = last;
  EXPECT_EQ(std::get<RoundFormed>(*parse_news(to_json(ElasticNews(formed)))).succession, last);
  RoundWaits waits;
  waits.awaited = 5;
  waits.succession = last;
  EXPECT_EQ(std::get<RoundWaits>(*parse_news(to_json(ElasticNews(waits)))), waits);
}

TEST(AttendanceSuccession, WhatIsOutOfBoundsIsRefused) {
  Attendance said{.node = {"n3", 9, launch_local_id}, .member = {NodeRank(), "default", 1}};
  LastRound last{0, 0, 2, NodeRank(1), NodeRank(0), {}, "ab", 0, 0, {{NodeRank(1), said.node, {{"n3", 1}, "cd"}}}};
  said.comeback = Comeback{last, 1, 0, {}, 1s};
  ASSERT_TRUE(parse_attendance(to_json(said)));
  const auto taken = [&](const std::function<void(Comeback&)>& change) {
    Attendance other = said;
    change(*other.comeback);
    return parse_attendance(to_json(other)).has_value();
  };
  EXPECT_FALSE(taken([](Comeback& back) { back.term = 0; }));
  EXPECT_FALSE(taken([](Comeback& back) { back.last.nnodes = 0; }));
  EXPECT_FALSE(taken([](Comeback& back) { back.last.rank = NodeRank(3); }));
  EXPECT_FALSE(taken([](Comeback& back) { back.last.line[0].rank = NodeRank(7); }));
  EXPECT_FALSE(taken([](Comeback& back) { back.last.old = 3; }));
  EXPECT_FALSE(taken([](Comeback& back) { back.left = -1; }));
}

TEST(AttendanceSuccession, WhoTellsSaysWhereTheJobLives) {
  Attendance said = example(Wish::tell);
  EXPECT_FALSE(parse_attendance(to_json(said))) << "it says nothing";
  said.moved = MovedJob{{"n2", 43, launch_local_id}, {{"10.0.0.2", 40000}, "of n2"}, 1};
  const auto read = parse_attendance(to_json(said));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, said);
  said.moved->term = 0;
  EXPECT_FALSE(parse_attendance(to_json(said)));
}

}  // namespace launch::attendance_test
