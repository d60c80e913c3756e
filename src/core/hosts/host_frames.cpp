#include "launch/core/hosts/host_frames.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view greeting_mark = "launch-remote ";
constexpr std::size_t longest_greeting = 512;  // its line
constexpr std::size_t longest_version = 64;
constexpr std::size_t longest_hostname = 255;
constexpr std::size_t kept_noise = 4096;
constexpr std::size_t kept_room = std::size_t{256} << 10;  // of a reader that holds nothing

constexpr std::size_t frame_head = 5;

bool is_word_byte(char c) { return c > ' ' && c < '\x7f'; }

std::string greeting_word(std::string_view text, std::size_t longest) {
  std::string word(text.substr(0, longest));
  std::replace_if(
      word.begin(), word.end(), [](char c) { return !is_word_byte(c); }, '?');
  return word.empty() ? "?" : word;
}

bool is_greeting_word(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), is_word_byte);
}

std::optional<int> greeting_number(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const auto number = digits ? parse_int(text) : std::nullopt;
  return number && *number > 0 ? number : std::nullopt;
}

// Of another protocol only the number is read.
std::optional<Greeting> parse_greeting(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() > longest_greeting - greeting_mark.size()) return std::nullopt;
  const auto words = split(text, ' ');
  Greeting greeting;
  const auto protocol = greeting_number(words[0]);
  if (!protocol) return std::nullopt;
  greeting.protocol = *protocol;
  if (greeting.protocol != host_protocol) return greeting;
  if (words.size() != 4 || !is_greeting_word(words[1], longest_version)) return std::nullopt;
  const auto pid = greeting_number(words[2]);
  if (!pid || !is_greeting_word(words[3], longest_hostname)) return std::nullopt;
  greeting.version = words[1];
  greeting.pid = *pid;
  greeting.hostname = words[3];
  return greeting;
}

void append_frame(std::string& frames, const HostMessage& message) {
  const std::size_t begin = frames.size();
  frames.append(frame_head, static_cast<char>(kind_of(message)));
  append_body(frames, message);
  auto length = std::min<std::size_t>(frames.size() - begin - frame_head, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t at = frame_head; --at > 0; length >>= 8U) frames[begin + at] = static_cast<char>(length & 255U);
}

// A message that is nothing but bytes, and may be several frames.
template <class Message>
constexpr bool is_bytes =
    std::is_same_v<Message, NodeOutput> || std::is_same_v<Message, NodeInput> || std::is_same_v<Message, PeerBytes>;

template <class Message>
const std::string* bytes_of(const Message& message) {
  if constexpr (is_bytes<Message>) return &message.bytes;
  return nullptr;
}

std::size_t bytes_in(const HostMessage& message) {
  const auto* bytes = std::visit([](const auto& one) { return bytes_of(one); }, message);
  return bytes != nullptr ? bytes->size() : 0;
}

// The part of such a message that begins at `at`.
HostMessage part_of(const HostMessage& message, std::size_t at) {
  return std::visit(
      [at](const auto& one) -> HostMessage {
        using Message = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Message, NodeOutput>)
          return Message{one.errors, one.bytes.substr(at, longest_output)};
        if constexpr (std::is_same_v<Message, PeerBytes>)
          return Message{one.node, one.bytes.substr(at, longest_output)};
        if constexpr (std::is_same_v<Message, NodeInput>) return Message{one.bytes.substr(at, longest_output)};
        return one;
      },
      message);
}

}  // namespace

std::string to_line(const Greeting& greeting) {
  return fmt::format("{}{} {} {} {}\n", greeting_mark, greeting.protocol,
                     greeting_word(greeting.version, longest_version), greeting.pid,
                     greeting_word(greeting.hostname, longest_hostname));
}

std::string to_frame(const HostMessage& message) {
  std::string frames;
  const std::size_t bytes = bytes_in(message);
  frames.reserve(bytes + 64);
  if (bytes <= longest_output) append_frame(frames, message);
  for (std::size_t at = 0; bytes > longest_output && at < bytes; at += longest_output)
    append_frame(frames, part_of(message, at));
  return frames;
}

// What was taken is moved away when it is the greater part: each byte is moved once at most, on average.
void FrameReader::feed(std::string_view bytes) {
  if (fault_) return;
  if (begin_ > held_.size() / 2) {
    held_.erase(0, begin_);
    searched_ -= std::min(searched_, begin_);
    begin_ = 0;
  }
  held_ += bytes;
}

Error FrameReader::fail(std::string what) {
  fault_ = protocol_error(std::move(what));
  held_ = std::string();
  begin_ = 0;
  return *fault_;
}

void FrameReader::take_noise(std::string_view bytes) {
  noises_ += bytes.size();
  noise_ += bytes.substr(bytes.size() - std::min(bytes.size(), kept_noise));
  if (noise_.size() > 2 * kept_noise) noise_.erase(0, noise_.size() - kept_noise);
}

Result<std::optional<Greeting>> FrameReader::greeting() {
  constexpr std::string_view too_much = "too much text before launch --remote answered";
  if (fault_) return *fault_;
  while (!greeted_) {
    const std::size_t end = held_.find('\n', std::max(begin_, searched_));
    if (end == std::string::npos) {
      searched_ = held_.size();
      if (noises_ + rest().size() <= most_noise + longest_greeting) return std::nullopt;
      take_noise(rest());
      return fail(std::string(too_much));
    }
    const std::string_view line = rest().substr(0, end + 1 - begin_);
    const std::size_t mark = line.rfind(greeting_mark);
    auto greeting = mark == line.npos
                        ? std::nullopt
                        : parse_greeting(line.substr(0, line.size() - 1).substr(mark + greeting_mark.size()));
    take_noise(greeting ? line.substr(0, mark) : line);
    begin_ = end + 1;
    if (noises_ > most_noise) return fail(std::string(too_much));
    if (!greeting) continue;
    if (greeting->protocol != host_protocol)
      return fail(
          fmt::format("speaks protocol {} of launch --hosts, this launch {}", greeting->protocol, host_protocol));
    greeted_ = true;
    return greeting;
  }
  return std::nullopt;
}

Result<std::optional<HostMessage>> FrameReader::next() {
  if (fault_) return *fault_;
  const std::string_view frame = rest();
  if (!greeted_ || frame.size() < frame_head) return std::nullopt;
  const std::size_t kind = static_cast<unsigned char>(frame[0]);
  std::size_t length = 0;
  for (const char c : frame.substr(1, frame_head - 1)) length = length << 8U | static_cast<unsigned char>(c);
  if (kind < 1 || kind > last_message_kind) return fail(fmt::format("a frame of an unknown kind {}", kind));
  if (length > longest_body_of(kind))
    return fail(fmt::format("a frame {} of {} bytes, at most {}", kind_name(kind), length, longest_body_of(kind)));
  if (frame.size() < frame_head + length) return std::nullopt;
  auto message = parse_body(kind, frame.substr(frame_head, length));
  if (!message) return fail(std::move(message.error().message));
  begin_ += frame_head + length;
  if (begin_ == held_.size()) {
    held_.clear();
    if (held_.capacity() > kept_room) held_.shrink_to_fit();
    begin_ = 0;
  }
  return *std::move(message);
}

std::string FrameReader::noise(std::size_t most) const {
  std::string all = noise_;
  if (!greeted_) all += rest().substr(rest().size() - std::min(rest().size(), kept_noise));
  const std::string text = without_colors(all);
  const auto lines = split(text, '\n');
  std::string shown_lines;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::string plain = without_controls(trim(*line), most);
    const std::string one(trim(plain));
    if (one.empty()) continue;
    if (!shown_lines.empty() && one.size() + 2 + shown_lines.size() > most) break;
    shown_lines = shown_lines.empty() ? one : fmt::format("{}; {}", one, shown_lines);
  }
  return shown_lines;
}

}  // namespace launch
