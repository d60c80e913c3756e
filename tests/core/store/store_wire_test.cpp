#include "launch/core/store/store_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace launch::store_wire_test {

using namespace std::string_literals;

// What came out of a reader: each request written again, which is also how requests are compared.
struct Read {
  std::vector<std::string> requests;
  std::optional<Error> error;
};

std::string encoded(const Request& request) {
  std::string bytes;
  encode(request, bytes);
  return bytes;
}

std::string hello() { return encoded(ValidateRequest{validate_magic}); }

std::string text_of(std::uint64_t number) {
  std::string bytes;
  append_i64(bytes, static_cast<std::int64_t>(number));
  return bytes;
}

std::string length_and(std::string_view text) {
  std::string bytes;
  append_bytes(bytes, text);
  return bytes;
}

void feed(RequestReader& reader, std::string_view bytes, Read& read) {
  std::copy(bytes.begin(), bytes.end(), reader.prepare(bytes.size()));
  reader.commit(bytes.size());
  while (!read.error) {
    auto request = reader.next();
    if (!request) {
      read.error = request.error();
    } else if (*request) {
      read.requests.push_back(encoded(**request));
    } else {
      return;
    }
  }
}

Read read_whole(std::string_view bytes) {
  RequestReader reader;
  Read read;
  feed(reader, bytes, read);
  return read;
}

std::vector<Request> one_of_each() {
  return {SetRequest{"/key", "value"},
          SetRequest{"", ""},
          CompareSetRequest{"k", "", "wanted"},
          GetRequest{"/key"},
          AddRequest{"init/", -3},
          CheckRequest{{"a", "", "a"}},
          CheckRequest{{}},
          WaitRequest{{"/one", "/two"}},
          CountKeysRequest{},
          DeleteKeyRequest{"gone"},
          AppendRequest{"log", std::string_view("\0\xFF", 2)},
          MultiGetRequest{{"x", "y"}},
          MultiSetRequest{{{"x", "1"}, {"y", ""}}},
          MultiSetRequest{{}},
          CancelWaitRequest{},
          PingRequest{0xDEADBEEF},
          QueuePushRequest{"q", "item"},
          QueuePopRequest{"q"},
          QueueLengthRequest{"q"},
          ListKeysRequest{},
          BarrierRequest{"b", 5},
          AttendRequest{"k", "{}"},
          LeaveWillRequest{"{}"},
          ValidateRequest{validate_magic}};
}

std::string modern_stream() {
  std::string bytes = hello();
  for (const Request& request : one_of_each()) encode(request, bytes);
  return bytes;
}

TEST(StoreWire, EveryRequestIsReadBackAsItWasWritten) {
  std::vector<std::string> expected = {hello()};
  for (const Request& request : one_of_each()) expected.push_back(encoded(request));
  const Read read = read_whole(modern_stream());
  EXPECT_FALSE(read.error);
  EXPECT_EQ(read.requests, expected);
}

TEST(StoreWire, FieldsArriveInTheirPlaces) {
  RequestReader reader;
  const std::string bytes =
      hello() + encoded(CompareSetRequest{"key", "old", "new"}) + encoded(BarrierRequest{"b", -7});
  std::copy(bytes.begin(), bytes.end(), reader.prepare(bytes.size()));
  reader.commit(bytes.size());
  EXPECT_EQ(std::get<ValidateRequest>(**reader.next()).magic, validate_magic);
  const Request compare_set = **reader.next();
  EXPECT_EQ(std::get<CompareSetRequest>(compare_set).key, "key");
  EXPECT_EQ(std::get<CompareSetRequest>(compare_set).expected, "old");
  EXPECT_EQ(std::get<CompareSetRequest>(compare_set).desired, "new");
  const Request barrier = **reader.next();
  EXPECT_EQ(std::get<BarrierRequest>(barrier).key, "b");
  EXPECT_EQ(std::get<BarrierRequest>(barrier).world_size, -7);
}

TEST(StoreWire, BytesOnTheWireAreThoseOfPyTorch) {
  EXPECT_EQ(hello(), "\x00\xCE\xF7\x85\x3C"s);
  EXPECT_EQ(encoded(PingRequest{0x01020304}), "\x0D\x04\x03\x02\x01"s);
  EXPECT_EQ(encoded(AddRequest{"init/", 1}), "\x04\x05\0\0\0\0\0\0\0init/\x01\0\0\0\0\0\0\0"s);
  EXPECT_EQ(encoded(WaitRequest{{"a"}}), "\x06\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0a"s);
  EXPECT_EQ(encoded(WatchKeyRequest{"a"}), "");
}

TEST(StoreWire, TwoPiecesGiveTheSameRequestsAtEveryCut) {
  const std::string bytes = modern_stream();
  const Read whole = read_whole(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RequestReader reader;
    Read read;
    feed(reader, std::string_view(bytes).substr(0, cut), read);
    feed(reader, std::string_view(bytes).substr(cut), read);
    ASSERT_FALSE(read.error) << "cut at " << cut;
    ASSERT_EQ(read.requests, whole.requests) << "cut at " << cut;
    ASSERT_EQ(reader.buffered(), 0U);
  }
}

TEST(StoreWire, OneByteAtATimeGivesTheSameRequestsAndEachAsSoonAsItIsWhole) {
  RequestReader reader;
  Read read;
  for (const Request& request : one_of_each()) {
    const std::string bytes = (read.requests.empty() ? hello() : "") + encoded(request);
    const std::size_t before = read.requests.size();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      ASSERT_LE(read.requests.size(), before + (before == 0 && at >= 5 ? 1 : 0));
      feed(reader, std::string_view(bytes).substr(at, 1), read);
    }
    ASSERT_FALSE(read.error);
    ASSERT_EQ(read.requests.back(), encoded(request));
    ASSERT_EQ(reader.buffered(), 0U);
  }
}

TEST(StoreWire, DialectIsKnownAsEarlyAsTheBytesAllow) {
  const struct {
    std::string bytes;
    Dialect expected;
  } cases[] = {
      {"", Dialect::unknown},
      {"\x00"s, Dialect::unknown},
      {"\x00\xCE\xF7\x85"s, Dialect::unknown},
      {"\x00\xCE\xF7\x85\x3C"s, Dialect::modern},
      {"\x00\xCE\xF7\x85\x3D"s, Dialect::old},
      {"\x00\x04"s, Dialect::old},
      {"\x03"s, Dialect::old},
      {"\x05"s, Dialect::old},
  };
  for (const auto& [bytes, expected] : cases) {
    RequestReader reader;
    Read read;
    for (const char byte : bytes) feed(reader, std::string_view(&byte, 1), read);
    EXPECT_EQ(reader.dialect(), expected) << testing::PrintToString(bytes);
    EXPECT_FALSE(read.error);
  }
}

TEST(StoreWire, OldDialectHasItsOwnNumbers) {
  const std::string key = length_and("k");
  const std::string value = length_and("v");
  const struct {
    std::string bytes;
    Request expected;
  } cases[] = {
      {"\0"s + key + value, SetRequest{"k", "v"}},
      {"\1"s + key + value + value, CompareSetRequest{"k", "v", "v"}},
      {"\2"s + key, GetRequest{"k"}},
      {"\3"s + key + text_of(9), AddRequest{"k", 9}},
      {"\4"s + text_of(1) + key, CheckRequest{{"k"}}},
      {"\5"s + text_of(2) + key + key, WaitRequest{{"k", "k"}}},
      {"\6"s, CountKeysRequest{}},
      {"\7"s + key, WatchKeyRequest{"k"}},
      {"\10"s + key, DeleteKeyRequest{"k"}},
  };
  for (const auto& [bytes, expected] : cases) {
    RequestReader reader;
    std::optional<Request> request;
    for (const char byte : bytes) {
      ASSERT_FALSE(request);
      *reader.prepare(1) = byte;
      reader.commit(1);
      request = *reader.next();
    }
    ASSERT_TRUE(request);
    EXPECT_EQ(reader.dialect(), Dialect::old);
    EXPECT_EQ(request->index(), expected.index());
    EXPECT_EQ(encoded(*request), encoded(expected));
  }
}

TEST(StoreWire, UnknownOpcodesAndStrangersAreRefused) {
  const std::string streams[] = {hello() + "\x13"s,       hello() + "\xFF"s,     "\x09"s,
                                 "\x0D\x01\x02\x03\x04"s, "GET / HTTP/1.1\r\n"s, "\x16\x03\x01\x02\x00"s};
  for (const std::string& stream : streams) {
    const Read read = read_whole(stream);
    ASSERT_TRUE(read.error) << testing::PrintToString(stream);
    EXPECT_EQ(read.error->code, ErrorCode::protocol);
    EXPECT_NE(read.error->message.find(
                  "opcode " + std::to_string(static_cast<unsigned char>(stream[stream.starts_with(hello()) ? 5 : 0]))),
              std::string::npos);
  }
}

TEST(StoreWire, WrongMagicAsTheFirstBytesEndsAsAnOldKeyThatIsTooLong) {
  const Read read = read_whole("\x00\xCE\xF7\x85\x3D\x0D\x01\x02\x03"s);
  ASSERT_TRUE(read.error);
  EXPECT_NE(read.error->message.find("key"), std::string::npos);
}

TEST(StoreWire, AnErrorIsGivenAgain) {
  RequestReader reader;
  Read first;
  feed(reader, hello() + "\x13", first);
  ASSERT_TRUE(first.error);
  const auto again = reader.next();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, first.error->message);
}

TEST(StoreWire, LimitsHoldAtTheLastGoodValueAndRefuseTheNextOne) {
  const auto set_head = [](std::size_t key) { return hello() + "\x01"s + text_of(key); };
  const auto payload_head = [](std::size_t payload) { return hello() + "\x01"s + length_and("k") + text_of(payload); };
  const auto keys_head = [](std::size_t keys) { return hello() + "\x06"s + text_of(keys); };
  const auto huge = static_cast<std::size_t>(-1);
  const struct {
    std::string good, bad, words;
  } cases[] = {
      {set_head(max_key_bytes), set_head(max_key_bytes + 1), "SET: a key of 8193 bytes is over the limit of 8192"},
      {payload_head(max_payload_bytes), payload_head(max_payload_bytes + 1), "payload of 8388609 bytes"},
      {keys_head(max_keys), keys_head(max_keys + 1), "WAIT: 131073 keys are over the limit of 131072"},
      {set_head(0), set_head(huge), "18446744073709551615"},
      {payload_head(0), payload_head(huge), "18446744073709551615"},
      {keys_head(1), keys_head(huge), "18446744073709551615"},
  };
  for (const auto& [good, bad, words] : cases) {
    EXPECT_FALSE(read_whole(good).error) << words;
    const Read read = read_whole(bad);
    ASSERT_TRUE(read.error) << words;
    EXPECT_EQ(read.error->code, ErrorCode::protocol);
    EXPECT_NE(read.error->message.find(words), std::string::npos) << read.error->message;
  }
}

TEST(StoreWire, TheLargestKeyPayloadAndListAreRead) {
  const std::string key(max_key_bytes, 'k');
  const std::string payload(max_payload_bytes, 'p');
  const WaitRequest wait{std::vector<std::string_view>(max_keys)};
  EXPECT_EQ(read_whole(hello() + encoded(SetRequest{key, payload})).requests.back(), encoded(SetRequest{key, payload}));
  EXPECT_EQ(read_whole(hello() + encoded(wait)).requests.back(), encoded(wait));
}

TEST(StoreWire, OneRequestHasALimitAndIsRefusedBeforeItsBytesCome) {
  const std::string payload(max_payload_bytes, 'p');
  // The opcode, the count, and seven pairs leave room for one more payload of exactly this size.
  const std::size_t used = 1 + 8 + 7 * (8 + 1 + 8 + max_payload_bytes) + 8 + 1 + 8;
  const std::size_t last = max_request_bytes - used;
  std::string head = hello() + "\x0B"s + text_of(8);
  for (int pair = 0; pair < 7; ++pair) head += length_and("k") + length_and(payload);
  head += length_and("k");
  EXPECT_FALSE(read_whole(head + text_of(last)).error);
  EXPECT_EQ(read_whole(head + text_of(last) + std::string(last, 'x')).requests.size(), 2U);
  const Read read = read_whole(head + text_of(last + 1));
  ASSERT_TRUE(read.error);
  EXPECT_NE(read.error->message.find("over the limit of 67108864"), std::string::npos);
}

TEST(StoreWire, ASilentConnectionHoldsNoMemoryAndARestingOneLittle) {
  RequestReader reader;
  EXPECT_EQ(reader.capacity(), 0U);
  Read read;
  feed(reader, hello() + encoded(SetRequest{"k", std::string(1'000'000, 'x')}) + "\x0D"s, read);
  EXPECT_EQ(read.requests.size(), 2U);
  EXPECT_EQ(reader.buffered(), 1U);
  EXPECT_LE(reader.capacity(), 2 * RequestReader::resting_bytes);
  feed(reader, "\1\2\3\4", read);
  EXPECT_EQ(read.requests.back(), encoded(PingRequest{0x04030201}));
  EXPECT_LE(reader.capacity(), RequestReader::resting_bytes);
}

TEST(StoreWire, AnAnnouncedLengthAllocatesNothing) {
  RequestReader reader;
  Read read;
  feed(reader, hello() + "\x01"s + length_and("k") + text_of(max_payload_bytes), read);
  EXPECT_FALSE(read.error);
  EXPECT_LE(reader.capacity(), RequestReader::resting_bytes);
}

// A list that comes in small pieces: the reader moves its bytes a logarithmic number of times and holds at most twice
// of them. Scanning again from the front at each piece would take 10^10 steps here.
TEST(StoreWire, SmallPiecesOfALargeRequestCostLinearWork) {
  const MultiGetRequest request{std::vector<std::string_view>(max_keys, "key")};
  const std::string bytes = hello() + encoded(request);
  RequestReader reader;
  Read read;
  int moves = 0;
  const char* place = nullptr;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view piece = std::string_view(bytes).substr(at, 3);
    const char* front = reader.prepare(piece.size()) - reader.buffered();
    if (std::exchange(place, front) != front) ++moves;
    feed(reader, piece, read);
    ASSERT_LE(reader.capacity(), 2 * reader.buffered() + RequestReader::resting_bytes);
  }
  EXPECT_EQ(read.requests.size(), 2U);
  EXPECT_EQ(read.requests.back(), encoded(request));
  EXPECT_LT(moves, 40);
}

TEST(StoreWire, ManySmallRequestsInManyPiecesNeverGrowTheBuffer) {
  std::string bytes = hello();
  for (int round = 0; round < 10'000; ++round) encode(AddRequest{"counter", round}, bytes);
  RequestReader reader;
  Read read;
  for (std::size_t at = 0; at < bytes.size(); at += 1021) {
    feed(reader, std::string_view(bytes).substr(at, 1021), read);
    ASSERT_LE(reader.capacity(), RequestReader::resting_bytes);
  }
  EXPECT_EQ(read.requests.size(), 10'001U);
}

TEST(StoreWire, PipelinedRequestsThatAreNotDrainedSurviveFurtherPieces) {
  RequestReader reader;
  std::string bytes = hello();
  for (int round = 0; round < 500; ++round) encode(AddRequest{"counter", round}, bytes);
  for (std::size_t at = 0; at < bytes.size(); at += 64) {
    const std::string_view piece = std::string_view(bytes).substr(at, 64);
    std::copy(piece.begin(), piece.end(), reader.prepare(piece.size()));
    reader.commit(piece.size());
    if (at % 128 == 0) {
      ASSERT_TRUE(reader.next());
    }
  }
  Read read;
  feed(reader, "", read);
  EXPECT_FALSE(read.error);
  EXPECT_EQ(read.requests.back(), encoded(AddRequest{"counter", 499}));
}

TEST(StoreWire, RepliesAreLittleEndian) {
  std::string bytes;
  append_u8(bytes, 7);
  append_u32(bytes, 0x01020304);
  append_i64(bytes, -2);
  append_bytes(bytes, "ab");
  EXPECT_EQ(bytes, "\x07\x04\x03\x02\x01\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02\0\0\0\0\0\0\0ab"s);
  EXPECT_EQ(read_u32(bytes.data() + 1), 0x01020304U);
  EXPECT_EQ(read_i64(bytes.data() + 5), -2);
}

}  // namespace launch::store_wire_test
