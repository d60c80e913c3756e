// The connection of a head to a launch that it has started on another host (a remote): a greeting in one line of text,
// then frames of a kind, a length and bytes, which are the messages of core/hosts/host_messages. app/head and
// app/remote_node use it. Pure; nothing is written or read here.
//
// The other side may be a login that prints, another version or a stranger: each size is bounded before it is believed,
// and what is not understood is an error with code protocol.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

constexpr int host_protocol = 1;  // of the frames; both sides must have the same

struct Greeting {
  int protocol = host_protocol;
  std::string version;  // of launch
  int pid = 0;
  std::string hostname;

  bool operator==(const Greeting&) const = default;
};

// "launch-remote 1 0.2.0 4711 n1", with the end of the line. A byte of a word that is not printable ASCII is a "?".
std::string to_line(const Greeting& greeting);

// A frame: one byte for the kind of the message, four for the length of the body, big-endian, and the body.
constexpr std::size_t longest_frame = longest_body;

// An output or input longer than longest_output becomes several frames.
std::string to_frame(const HostMessage& message);

// Reads what a remote sends: noise, the greeting, frames. Or, without a greeting, what a head sends. It does not matter
// in which pieces the bytes come, and each is looked at once. After an error all further bytes are dropped, and asking
// again gives the same error.
class FrameReader {
 public:
  static constexpr std::size_t most_noise = std::size_t{64} << 10;

  explicit FrameReader(bool expects_greeting) : greeted_(!expects_greeting) {}

  void feed(std::string_view bytes);
  // The greeting, once; before it next() has nothing. It may stand behind noise in its line. An error if there is too
  // much noise, or if it is a greeting of another protocol ("speaks protocol 7 of launch --hosts, this launch 1").
  Result<std::optional<Greeting>> greeting();
  // The next message that is complete; call it until there is none before more is fed.
  Result<std::optional<HostMessage>> next();
  // The last lines that came before the greeting, for people, as one: at most so many bytes, without controls.
  std::string noise(std::size_t most = 200) const;

 private:
  std::string_view rest() const { return std::string_view(held_).substr(begin_); }
  void take_noise(std::string_view bytes);
  Error fail(std::string what);

  std::string held_;
  std::size_t begin_ = 0;     // of what was not taken yet
  std::size_t searched_ = 0;  // no line ends between begin_ and here; before the greeting only
  std::string noise_;         // its last bytes
  std::size_t noises_ = 0;    // all of its bytes
  bool greeted_;
  std::optional<Error> fault_;
};

}  // namespace launch
