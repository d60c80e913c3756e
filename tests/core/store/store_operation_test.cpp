#include "launch/core/store/store_operation.hpp"

#include "launch/core/store/store_wire.hpp"

#include <gtest/gtest.h>

namespace launch::store_operation_test {

std::string bytes_of(const Operation& operation) {
  std::string out;
  encode_operation(operation, out);
  return out;
}

// Every proper prefix of a reply is incomplete; the whole one is used to its last byte.
Outcome decode_whole(const Operation& operation, const std::string& reply) {
  std::size_t used = 0;
  for (std::size_t cut = 0; cut < reply.size(); ++cut) {
    const auto part = decode_outcome(operation, std::string_view(reply).substr(0, cut), used);
    EXPECT_TRUE(part && !part->has_value()) << cut;
  }
  auto outcome = decode_outcome(operation, reply + "next", used);
  EXPECT_EQ(used, reply.size());
  return **outcome;
}

TEST(StoreOperation, OneKeyIsSetSeveralAreMultiSet) {
  EXPECT_EQ(bytes_of(SetKeys{{{"/k", "v"}}})[0], 1);
  EXPECT_EQ(bytes_of(SetKeys{{{"/k", "v"}, {"/l", "w"}}})[0], 11);
}

TEST(StoreOperation, SetHasNoReply) {
  std::size_t used = 9;
  EXPECT_TRUE(std::holds_alternative<Done>(**decode_outcome(SetKeys{{{"/k", "v"}}}, "", used)));
  EXPECT_EQ(used, 0U);
}

TEST(StoreOperation, ValuesAreReadInPieces) {
  std::string reply;
  append_bytes(reply, "one");
  append_bytes(reply, "");
  const auto outcome = decode_whole(GetKeys{{"/a", "/b"}}, reply);
  EXPECT_EQ(std::get<Values>(outcome).values, (std::vector<std::string>{"one", ""}));
}

TEST(StoreOperation, ALongReplyInPiecesIsReadOnce) {
  const ListKeys list;
  std::string reply;
  append_i64(reply, 3);
  for (const char* key : {"one", "two", "three"}) append_bytes(reply, key);
  PartialReply part;
  std::size_t used = 0;
  ASSERT_FALSE(decode_outcome(list, std::string_view(reply).substr(0, 35), used, part)->has_value());
  EXPECT_EQ(part.read, 22U);         // two keys
  reply.replace(8, 22, 22, '\xff');  // what was read is not looked at again
  const auto outcome = decode_outcome(list, reply + "next", used, part);
  EXPECT_EQ(std::get<Values>(**outcome).values, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(used, reply.size());
}

TEST(StoreOperation, NumbersAndPresence) {
  std::string reply;
  append_i64(reply, -5);
  EXPECT_EQ(std::get<Number>(decode_whole(AddNumber{"/n", 1}, reply)).value, -5);
  EXPECT_EQ(std::get<Presence>(decode_whole(CheckKeys{{"/a", "/b"}}, std::string("\0\1", 2))).present,
            (std::vector<bool>{true, false}));
}

TEST(StoreOperation, EachCheckedKeyIsARequestOfItsOwn) {
  RequestReader reader;
  const std::string bytes = bytes_of(CheckKeys{{"/a", "/b"}});
  std::string modern;
  encode(ValidateRequest{validate_magic}, modern);
  modern += bytes;
  std::copy(modern.begin(), modern.end(), reader.prepare(modern.size()));
  reader.commit(modern.size());
  int checks = 0;
  for (auto request = reader.next(); request && request->has_value(); request = reader.next())
    checks += std::holds_alternative<CheckRequest>(**request) ? 1 : 0;
  EXPECT_EQ(checks, 2);
}

TEST(StoreOperation, AnImpossibleReplyIsAnError) {
  std::size_t used = 0;
  std::string reply;
  append_i64(reply, std::int64_t{1} << 40);
  EXPECT_EQ(decode_outcome(GetKeys{{"/a"}}, reply, used).error().code, ErrorCode::protocol);
  EXPECT_EQ(decode_outcome(AwaitKeys{{"/a"}}, "\7", used).error().code, ErrorCode::protocol);
}

TEST(StoreOperation, WhoAttendsIsToldAtEverySplitOfTheAnswer) {
  std::string bytes(1, '\0');
  append_bytes(bytes, "news");
  std::size_t used = 0;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto part = decode_outcome(Attend{}, std::string_view(bytes).substr(0, cut), used);
    ASSERT_TRUE(part) << cut;
    EXPECT_FALSE(part->has_value()) << cut;
  }
  const auto whole = decode_outcome(Attend{}, bytes + "next", used);
  ASSERT_TRUE(whole && whole->has_value());
  EXPECT_EQ(std::get<Told>(**whole).text, "news");
  EXPECT_EQ(used, bytes.size());
  EXPECT_EQ(decode_outcome(Attend{}, "\1", used).error().code, ErrorCode::protocol);
  EXPECT_TRUE(waits(Attend{}));
}

}  // namespace launch::store_operation_test
