#include "launch/core/c10d/rendezvous_pickle.hpp"

#include "launch/core/base/base64.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::rendezvous_pickle_test {

using testing::HasSubstr;

// Written by torchrun of PyTorch 2.14 under Python 3.14: two nodes, complete.
constexpr const char* by_torchrun =
    "gAWVpAEAAAAAAACMN3RvcmNoLmRpc3RyaWJ1dGVkLmVsYXN0aWMucmVuZGV6dm91cy5keW5hbWljX3JlbmRlenZvdXOUjBBf"
    "UmVuZGV6dm91c1N0YXRllJOUKYGUfZQojAVyb3VuZJRLAIwIY29tcGxldGWUiIwIZGVhZGxpbmWUTowGY2xvc2VklImMDHBh"
    "cnRpY2lwYW50c5R9lChoAIwJX05vZGVEZXNjlJOUKYGUfZQojARhZGRylIwJMTI3LjAuMC4xlIwDcGlklE3QHYwIbG9jYWxf"
    "aWSUSwB1YksAaAwpgZR9lChoD4wJMTI3LjAuMC4xlGgRTdQdaBJLAHViSwF1jAl3YWl0X2xpc3SUj5SMD3JlZHVuZGFuY3lf"
    "bGlzdJSPlIwPbGFzdF9oZWFydGJlYXRzlH2UKGgNjAhkYXRldGltZZSMCGRhdGV0aW1llJOUQwoH6gsVCTA1AYEflGgcjAh0"
    "aW1lem9uZZSTlGgcjAl0aW1lZGVsdGGUk5RLAEsASwCHlFKUhZRSlIaUUpRoE2geQwoH6gsVCTA2AV4QlGgnhpRSlHV1Yi4=";

WallTime wall(std::int64_t seconds, int micros) {
  return WallTime(std::chrono::seconds(seconds) + std::chrono::microseconds(micros));
}

ElasticState full_state() {
  ElasticState state;
  state.round = 70'000;
  state.complete = true;
  state.deadline = wall(1'795'254'533, 98'591);
  const NodeDesc a{"n1.cluster", 300, 0}, b{std::string(300, 'x'), 70'000, launch_local_id}, c{"n3", 1, 2};
  state.participants = {{a, 0}, {b, 1}};
  state.wait_list = {c};
  state.redundancy_list = {{"n4", 5, 6}, {"n5", 5, 6}};
  state.last_heartbeats = {{a, wall(0, 1)}, {b, wall(4'102'444'800, 999'999)}, {c, wall(1'709'164'800, 0)}};
  return state;
}

TEST(RendezvousPickle, ReadsWhatTorchrunWrites) {
  const auto state = read_state(by_torchrun);
  ASSERT_TRUE(state) << state.error().message;
  const NodeDesc first{"127.0.0.1", 7632, 0}, second{"127.0.0.1", 7636, 0};
  EXPECT_EQ(state->round, 0);
  EXPECT_TRUE(state->complete);
  EXPECT_FALSE(state->closed || state->deadline);
  EXPECT_EQ(state->participants, (std::map<NodeDesc, int>{{first, 0}, {second, 1}}));
  EXPECT_EQ(state->last_heartbeats.at(first), wall(1'795'254'533, 98'591));  // 2026-11-21 09:48:53 UTC
}

TEST(RendezvousPickle, ReadsWhatItWrites) {
  const auto state = read_state(write_state(full_state()));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, full_state());
  EXPECT_EQ(read_state(write_state(ElasticState())).value(), ElasticState());
}

TEST(RendezvousPickle, TheSentinelIsANewState) { EXPECT_EQ(read_state(no_state).value(), ElasticState()); }

TEST(RendezvousPickle, AThousandNodesAreNoTrouble) {
  ElasticState state;
  for (int i = 0; i < 1000; ++i) {
    const NodeDesc node{"node" + std::to_string(i) + ".cluster.example", i + 1, 0};
    state.participants[node] = i;
    state.last_heartbeats[node] = wall(i, i);
  }
  EXPECT_EQ(read_state(write_state(state)).value(), state);
}

std::string fault_of(std::string_view bytes) {
  const auto state = unpickle_state(bytes);
  return state ? std::string() : state.error().message;
}

TEST(RendezvousPickle, EveryTruncationIsAnError) {
  const std::string bytes = pickle_state(full_state());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(unpickle_state(std::string_view(bytes).substr(0, length))) << length;
}

TEST(RendezvousPickle, NoChangedByteDoesMoreThanChangeAValue) {
  const std::string bytes = pickle_state(full_state());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ change);
      static_cast<void>(unpickle_state(other));  // must come back
    }
}

using namespace std::string_literals;

TEST(RendezvousPickle, RunsNothing) {
  EXPECT_THAT(fault_of("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R."s), HasSubstr("a name that no"));
  EXPECT_THAT(fault_of("cos\nsystem\n(S'id'\ntR."), HasSubstr("an opcode that no"));
  EXPECT_THAT(fault_of("\x80\x04\x8c\x08"
                       "datetime\x8c\x08"
                       "datetime\x93)\x81."s),
              HasSubstr("wrong class"));
  EXPECT_THAT(fault_of("no pickle at all"), HasSubstr("nothing was executed"));
  EXPECT_THAT(fault_of(""), HasSubstr("breaks off"));
}

TEST(RendezvousPickle, NamesTorchrunsThatCannotJoin) {
  std::string old = pickle_state(full_state());
  for (auto at = old.find("addr"); at != std::string::npos; at = old.find("addr")) old.replace(at, 4, "fqdn");
  EXPECT_THAT(fault_of(old), HasSubstr("older than PyTorch 2.0"));
  ElasticState none;
  none.deadline = wall(0, 0);
  std::string naive = pickle_state(none);
  const auto time = naive.find("C\x0a");
  const auto end = naive.find("\x86R", time);
  naive.replace(time + 12, end + 2 - time - 12, "\x85R");
  EXPECT_THAT(fault_of(naive), HasSubstr("before PyTorch 2.5"));
}

TEST(RendezvousPickle, RefusesFieldsItDoesNotKnow) {
  std::string other = pickle_state(full_state());
  other.replace(other.find("closed"), 6, "colour");
  EXPECT_THAT(fault_of(other), HasSubstr("a state has no field colour"));
  other.replace(other.find("colour"), 6, "col\nur");
  EXPECT_THAT(fault_of(other), testing::Not(HasSubstr("\n")));
}

// A few bytes that name one object a million times must not cost a million readings of it.
TEST(RendezvousPickle, SmallBombsStaySmall) {
  std::string bomb = "\x80\x04}\x94";
  for (int i = 0; i < 2'000'000; ++i) bomb += i % 2 == 0 ? "h" + std::string(1, '\0') : "N";
  EXPECT_FALSE(unpickle_state(bomb));
  EXPECT_FALSE(unpickle_state("\x80\x04" + std::string(8'000'000, ')')));
  EXPECT_FALSE(unpickle_state("\x80\x04)" + std::string(8'000'000, '\x85')));
  EXPECT_FALSE(unpickle_state("\x80\x04" + std::string(8'000'000, '(')));
  EXPECT_FALSE(unpickle_state("\x80\x04" + std::string(8'000'000, '}')));
}

TEST(RendezvousPickle, TextThatIsNoBase64) {
  EXPECT_THAT(read_state("***").error().message, HasSubstr("not base64"));
  EXPECT_FALSE(read_state(""));
}

}  // namespace launch::rendezvous_pickle_test
