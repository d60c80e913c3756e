// Whatever bytes come, in whatever pieces, the reader ends with an error of one line, or tells a greeting and messages
// that are read back equal when they are written. The first byte chooses: bytes as they are, or bodies that are made
// frames (a byte for the kind, two for the length), with or without a greeting before them.
#include "launch/core/hosts/host_frames.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace launch {
namespace {

struct Heard {
  std::string greetings, frames, fault;
  std::size_t messages = 0;

  bool operator==(const Heard&) const = default;
};

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const HostMessage& message, Heard& heard) {
  const std::string frame = to_frame(message);
  FrameReader reader(false);
  reader.feed(frame);
  require(**reader.next() == message);
  require(!*reader.next());
  heard.frames += frame;
  ++heard.messages;
}

void check(const Greeting& greeting, Heard& heard) {
  require(heard.greetings.empty());
  FrameReader reader(true);
  reader.feed(to_line(greeting));
  require(**reader.greeting() == greeting);
  heard.greetings += to_line(greeting);
}

Heard hear(bool greets, std::string_view bytes, std::size_t piece) {
  FrameReader reader(greets);
  Heard heard;
  const auto fail = [&](const Error& error) {
    require(error.code == ErrorCode::protocol && !error.message.empty());
    require(error.message.find('\n') == std::string::npos);
    heard.fault = error.message;
  };
  for (; heard.fault.empty() && !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    reader.feed(bytes.substr(0, piece));
    if (auto greeting = reader.greeting(); !greeting) {
      fail(greeting.error());
    } else if (*greeting) {
      check(**greeting, heard);
    }
    auto message = reader.next();
    for (; message && *message; message = reader.next()) check(**message, heard);
    if (!message) fail(message.error());
  }
  const std::string noise = reader.noise(40);
  require(noise.size() <= 40 && noise.find_first_of("\n\r\x1b") == std::string::npos);
  return heard;
}

std::string as_frames(std::string_view input) {
  std::string frames;
  while (input.size() > 3) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
    const std::string_view body = input.substr(3, byte(1) * std::size_t{256} + byte(2));
    frames += static_cast<char>(byte(0) % last_message_kind + 1);
    for (const unsigned shift : {24U, 16U, 8U, 0U}) frames += static_cast<char>(body.size() >> shift & 255U);
    frames += body;
    input.remove_prefix(3 + body.size());
  }
  return frames;
}

}  // namespace
}  // namespace launch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const bool greets = (data[0] & 1U) != 0;
  std::string bytes = (data[0] & 2U) != 0 ? as_frames(input) : std::string(input);
  if ((data[0] & 4U) != 0) bytes.insert(0, to_line({host_protocol, "0.2.0", 1, "n1"}));
  const Heard whole = hear(greets, bytes, bytes.size());
  require(hear(greets, bytes, 1) == whole);
  require(hear(greets, bytes, data[1] + std::size_t{1}) == whole);
  return 0;
}
