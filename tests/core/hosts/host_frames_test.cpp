#include "launch/core/hosts/host_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_frames_test {

using testing::ElementsAre;
using testing::HasSubstr;

const Greeting n1 = {host_protocol, "0.2.0", 4711, "n1"};

// All that a reader tells, and how it ends.
struct Heard {
  std::vector<Greeting> greetings;
  std::vector<HostMessage> messages;
  std::string fault;

  bool operator==(const Heard&) const = default;
};

void hear(FrameReader& reader, Heard& heard) {
  if (auto greeting = reader.greeting(); !greeting) {
    heard.fault = greeting.error().message;
  } else if (*greeting) {
    heard.greetings.push_back(**greeting);
  }
  auto message = reader.next();
  for (; message && *message; message = reader.next()) heard.messages.push_back(**message);
  if (message) return;
  EXPECT_EQ(message.error().code, ErrorCode::protocol);
  heard.fault = message.error().message;
}

Heard hear_pieces(bool greets, const std::vector<std::string_view>& pieces) {
  FrameReader reader(greets);
  Heard heard;
  for (const std::string_view piece : pieces) {
    reader.feed(piece);
    hear(reader, heard);
  }
  return heard;
}

Heard hear_bytes(bool greets, std::string_view bytes) {
  FrameReader reader(greets);
  Heard heard;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    reader.feed(bytes.substr(at, 1));
    hear(reader, heard);
  }
  return heard;
}

std::vector<HostMessage> one_of_each() {
  return {NodeJob{1, 2, {"train.py"}, {"A=\xff"}, "/tmp", 022, 15'000},
          NodeReady{"n1", "id", {"10.0.0.1"}, 1},
          NodeCannot{"why", 2},
          ReachQuestion{{"10.0.0.1"}, 1},
          ReachAnswer{{""}},
          NodeGo{{"--node-rank", "1"}},
          NodeSignal{15},
          NodeOutput{true, "launch-remote 1 0.2.0 4711 n1\n"},
          NodeInput{},
          HostBeat{},
          NodeEnd{1, "report\n"}};
}

std::string all_frames() {
  std::string frames;
  for (const HostMessage& message : one_of_each()) frames += to_frame(message);
  return frames;
}

std::string head_of(int kind, std::size_t length) {
  std::string head(1, static_cast<char>(kind));
  for (const unsigned shift : {24U, 16U, 8U, 0U}) head += static_cast<char>(length >> shift & 255U);
  return head;
}

TEST(HostFrames, HaveAKindALengthAndABody) {
  EXPECT_EQ(to_frame(HostBeat()), head_of(10, 2) + "{}");
  EXPECT_EQ(to_frame(NodeSignal{15}), head_of(7, 13) + R"({"number":15})");
  EXPECT_EQ(to_frame(NodeOutput{true, "ab"}), head_of(8, 3) + "\1ab");
  EXPECT_EQ(to_frame(NodeOutput{false, ""}), head_of(8, 1) + '\0');
  EXPECT_EQ(to_frame(NodeInput{std::string(300, 'x')}), head_of(9, 300) + std::string(300, 'x'));
}

TEST(HostFrames, AreReadWhereverTheBytesAreSplit) {
  const std::string stream = "motd\r\nlaunch-remote is\nno newline $ " + to_line(n1) + all_frames();
  const Heard whole = hear_pieces(true, {stream});
  EXPECT_THAT(whole.greetings, ElementsAre(n1));
  EXPECT_EQ(whole.messages, one_of_each());
  EXPECT_EQ(whole.fault, "");
  for (std::size_t at = 0; at <= stream.size(); ++at) {
    const std::string_view text(stream);
    EXPECT_EQ(hear_pieces(true, {text.substr(0, at), text.substr(at)}), whole) << at;
  }
  EXPECT_EQ(hear_bytes(true, stream), whole);
}

TEST(HostFrames, OfAHeadComeWithoutAGreeting) {
  FrameReader reader(false);
  EXPECT_FALSE(*reader.greeting());
  const Heard heard = hear_bytes(false, all_frames());
  EXPECT_EQ(heard.messages, one_of_each());
  EXPECT_TRUE(heard.greetings.empty());
}

TEST(HostFrames, LongOutputBecomesSeveral) {
  const std::string bytes = std::string(longest_output, 'a') + std::string(longest_output, 'b') + "c";
  std::string output;
  const Heard heard = hear_pieces(false, {to_frame(NodeOutput{true, bytes})});
  ASSERT_EQ(heard.messages.size(), 3U);
  for (const HostMessage& message : heard.messages) {
    EXPECT_TRUE(std::get<NodeOutput>(message).errors);
    output += std::get<NodeOutput>(message).bytes;
  }
  EXPECT_EQ(output, bytes);
  std::string input;
  for (const HostMessage& message : hear_pieces(false, {to_frame(NodeInput{bytes + bytes})}).messages)
    input += std::get<NodeInput>(message).bytes;
  EXPECT_EQ(input, bytes + bytes);
}

TEST(HostFrames, AreRefusedWithTheirHead) {
  EXPECT_EQ(hear_pieces(false, {head_of(200, 0)}).fault, "a frame of an unknown kind 200");
  EXPECT_EQ(hear_pieces(false, {head_of(0, 0)}).fault, "a frame of an unknown kind 0");
  const std::string next = std::to_string(last_message_kind + 1);
  EXPECT_EQ(hear_pieces(false, {head_of(last_message_kind + 1, 0)}).fault, "a frame of an unknown kind " + next);
  EXPECT_EQ(hear_pieces(false, {head_of(200, 0).substr(0, 4)}).fault, "") << "not complete";
  EXPECT_EQ(hear_pieces(false, {head_of(1, longest_frame)}).fault, "");
  EXPECT_EQ(hear_pieces(false, {head_of(1, longest_frame + 1)}).fault, "a frame job of 8388609 bytes, at most 8388608");
  EXPECT_EQ(hear_pieces(false, {head_of(11, 0xFFFFFFFF)}).fault, "a frame end of 4294967295 bytes, at most 8388608");
  EXPECT_EQ(hear_pieces(false, {head_of(8, longest_output + 1)}).fault, "");
  EXPECT_EQ(hear_pieces(false, {head_of(8, longest_output + 2)}).fault, "a frame output of 65538 bytes, at most 65537");
  EXPECT_EQ(hear_pieces(false, {head_of(9, longest_output + 1)}).fault, "a frame input of 65537 bytes, at most 65536");
  EXPECT_EQ(hear_pieces(false, {head_of(15, longest_output + 5)}).fault,
            "a frame peer bytes of 65541 bytes, at most 65540");
}

TEST(HostFrames, AfterAnErrorAllIsDropped) {
  FrameReader reader(false);
  reader.feed(to_frame(NodeSignal{2}) + head_of(7, 2) + "{}" + to_frame(HostBeat()));
  EXPECT_EQ(**reader.next(), HostMessage(NodeSignal{2}));
  for (int times = 0; times < 2; ++times) {
    const auto message = reader.next();
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().message, "a frame signal without a valid \"number\"");
    EXPECT_FALSE(reader.greeting());
    reader.feed(to_frame(HostBeat()));
  }
}

TEST(HostFrames, NothingIsReadBeforeTheGreetingWasTaken) {
  FrameReader reader(true);
  reader.feed(to_line(n1) + to_frame(HostBeat()));
  EXPECT_FALSE(*reader.next());
  EXPECT_EQ(**reader.greeting(), n1);
  EXPECT_FALSE(*reader.greeting()) << "once";
  EXPECT_TRUE(*reader.next());
}

TEST(HostGreeting, IsALine) {
  EXPECT_EQ(to_line(n1), "launch-remote 1 0.2.0 4711 n1\n");
  EXPECT_EQ(to_line({1, "", 1, "a b\n\xff"}), "launch-remote 1 ? 1 a?b??\n");
  const Heard heard = hear_pieces(true, {to_line({1, std::string(999, 'v'), 2'147'483'647, std::string(999, 'h')})});
  EXPECT_EQ(heard.greetings.size(), 1U);
}

TEST(HostGreeting, IsFoundBehindNoise) {
  for (const char* noise : {"", "\n", "\r\n\r\n", "Welcome to n1!\n", "$ ", "\x1b[31mred\x1b[0m", "\x01\x02\xff\r",
                            "launch-remote 1 0.2.0 4711 \n", "launch-remote ", "launch-remote 1 0.2.0 4711 n2 ",
                            "launch-remote 1 0.2.0 0 n1\n", "launch-remote one\n", "launch-remote 01\n",
                            "launch-remote 1\n", "launch-remote 1 a b c\n", "launch-remote -1 a 1 c\n"}) {
    const Heard heard = hear_bytes(true, noise + to_line(n1) + to_frame(HostBeat()));
    EXPECT_THAT(heard.greetings, ElementsAre(n1)) << noise;
    EXPECT_EQ(heard.messages.size(), 1U);
  }
  EXPECT_THAT(hear_pieces(true, {"launch-remote 1 0.2.0 4711 n1\r\n"}).greetings, ElementsAre(n1));
}

TEST(HostGreeting, OfAnotherProtocolIsRefused) {
  for (const char* line : {"launch-remote 7\n", "motd\nlaunch-remote 7 9.0 is different here\r\n"})
    EXPECT_EQ(hear_pieces(true, {line}).fault, "speaks protocol 7 of launch --hosts, this launch 1");
}

TEST(HostGreeting, ComesWithinSoMuchNoise) {
  const std::string most(FrameReader::most_noise, 'x');
  const std::string lines = std::string(FrameReader::most_noise - 1, 'x') + '\n';
  for (const std::string& noise : {most, lines, std::string(FrameReader::most_noise, '\n')}) {
    EXPECT_EQ(hear_bytes(true, noise + to_line(n1)).greetings.size(), 1U);
    EXPECT_EQ(hear_pieces(true, {noise + to_line(n1)}).greetings.size(), 1U);
    for (const Heard& heard : {hear_bytes(true, "x" + noise + to_line(n1)),
                               hear_pieces(true, {"x" + noise + to_line(n1)}), hear_pieces(true, {noise, noise})}) {
      EXPECT_THAT(heard.fault, HasSubstr("too much text"));
      EXPECT_TRUE(heard.greetings.empty());
    }
  }
}

TEST(HostNoise, IsToldAsOneLine) {
  FrameReader reader(true);
  EXPECT_EQ(reader.noise(), "");
  reader.feed("Welcome\r\n\r\n \x1b[31mdisk full\x1b[0m\n\x07\nlaunch: ");
  EXPECT_EQ(reader.noise(), "Welcome; disk full; launch:");
  EXPECT_FALSE(*reader.greeting());
  EXPECT_EQ(reader.noise(), "Welcome; disk full; launch:");
  EXPECT_EQ(reader.noise(20), "disk full; launch:");
  EXPECT_EQ(reader.noise(4), "laun");
  reader.feed(to_line(n1) + "after");
  EXPECT_TRUE(*reader.greeting());
  EXPECT_EQ(reader.noise(), "Welcome; disk full; launch:");
  FrameReader loud(true);
  loud.feed("the first\n" + std::string(1'000'000, 'x'));
  EXPECT_FALSE(loud.greeting());
  EXPECT_EQ(loud.noise(), std::string(200, 'x'));
}

// Takes minutes if it is quadratic.
TEST(HostFrames, TakeTimeInProportion) {
  std::string stream;
  while (stream.size() < std::size_t{1} << 20) stream += to_frame(NodeOutput{false, std::string(longest_output, 'x')});
  EXPECT_EQ(hear_bytes(false, stream).messages.size(), 16U);
  std::string small;
  while (small.size() < std::size_t{256} << 10) small += to_frame(NodeInput{"x"});
  EXPECT_EQ(hear_pieces(false, {small}).messages.size(), small.size() / 6);
  EXPECT_EQ(hear_bytes(false, to_frame(NodeGo{{std::string(longest_output, 'x')}})).messages.size(), 1U);
  EXPECT_NE(hear_bytes(true, std::string(2 * FrameReader::most_noise, 'x')).fault, "");
}

}  // namespace launch::host_frames_test
