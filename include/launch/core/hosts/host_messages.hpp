// What a head and the launches that it has started on other hosts (remotes) say to each other: the messages as values
// and as the bytes in a frame. core/hosts/host_frames uses it, which writes and reads the frames; app/head and
// app/remote_node see the values. Pure; nothing is written or read here.
//
// Each size and number that comes is bounded; what is not understood is an error with code protocol that says in one
// line what was wrong. Members of JSON that are not known are ignored, so that a later version may say more.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/job.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace launch {

// Head to remote: what the node is to be.
struct NodeJob {
  int node = 0;  // its number
  int nodes = 1;
  std::vector<std::string> args;  // of the ordinary launch, as far as they are known: to be checked
  std::vector<std::string> env;   // NAME=VALUE, on top of the remote's own
  std::string folder;             // to work in
  int umask = 022;
  std::int64_t silence_ms = 15'000;  // without any frame, after which a node that runs ends
  bool keeps_output = false;         // the remote keeps the workers' output in files until all of it was shown
  std::uint16_t port = 0;            // of the store, on node 0; 0: a free one
  std::string token{};               // what that port says to whom connects to it, until the node starts
  bool gathers_logs = false;         // the remote sends the files of the workers' output when the node has ended
  std::string logs{};                // the folder in which they are; empty: that in which the remote keeps the output
  bool checks = false;               // nothing will be started: the host is looked over, and says what it finds

  bool operator==(const NodeJob&) const = default;
};

// Remote to head: the node could start.
struct NodeReady {
  std::string hostname;
  std::string boot_id;                    // equal on two remotes: they are on one machine
  std::vector<std::string> addresses;     // of its interfaces, without the loopback
  std::uint16_t port = 0;                 // that the store may have there; only node 0, or if it is a check
  std::vector<std::string> interfaces{};  // the names of these, in the same order
  std::string machine{};                  // as "uname -m" says it; empty: not told
  std::string facts{};                    // of a check: a survey, as core/hosts/host_facts writes it
  int workers = 0;                        // of the node

  bool operator==(const NodeReady&) const = default;
};

// Remote to head: it cannot. Nothing was started.
struct NodeCannot {
  std::string reason;  // one line
  int exit_code = 1;

  bool operator==(const NodeCannot&) const = default;
};

// A port of another host, and what it says to whom connects to it.
struct ReachTarget {
  std::string address;  // or a name
  std::uint16_t port = 0;
  std::string token;

  bool operator==(const ReachTarget&) const = default;
};

// Head to remote: which of these can be connected to?
struct ReachQuestion {
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string token{};                 // what it says there
  std::vector<ReachTarget> targets{};  // and these, behind the addresses

  bool operator==(const ReachQuestion&) const = default;
};

// Remote to head: for each address and each target of the question, why it cannot be reached; empty: it can.
struct ReachAnswer {
  std::vector<std::string> faults;

  bool operator==(const ReachAnswer&) const = default;
};

// Head to remote: start the ordinary launch with these arguments.
struct NodeGo {
  std::vector<std::string> args;
  std::string meeting{};  // the address of node 0, if NCCL and Gloo are to use the interface that leads there
  bool input = false;     // NodeInput follows; otherwise the node's standard input is at its end

  bool operator==(const NodeGo&) const = default;
};

// Head to remote: pass this signal to the node.
struct NodeSignal {
  int number = 0;

  bool operator==(const NodeSignal&) const = default;
};

// Remote to head: bytes that the node has written.
struct NodeOutput {
  bool errors = false;  // to its standard error
  std::string bytes;

  bool operator==(const NodeOutput&) const = default;
};

// Head to remote: bytes for the node's standard input; empty: its end.
struct NodeInput {
  std::string bytes;

  bool operator==(const NodeInput&) const = default;
};

// Either way: nothing but a sign of life.
struct HostBeat {
  bool operator==(const HostBeat&) const = default;
};

// Remote to head: the node has ended, and all of its output was sent.
struct NodeEnd {
  int exit_code = 0;
  std::string report;         // of a job that failed, as text for people; may be empty
  std::string json{};         // the same for programs; empty if it is longer than longest_report
  int signal = 0;             // that has killed launch there; 0: it has ended by itself
  bool files_follow = false;  // files of its output, and then the same again without this

  bool operator==(const NodeEnd&) const = default;
};

// Head to remote, after NodeEnd: all that the node has written was shown, so its files are not needed for that.
struct NodeShown {
  bool operator==(const NodeShown&) const = default;
};

// Remote to head, before NodeEnd: a piece of a file of the workers' output.
struct NodeFile {
  std::string name;     // below the folder of all such files: no part of it leads elsewhere
  bool first = true;    // the file begins with it
  std::string bytes;    // at most longest_output
  std::string fault{};  // why the file cannot be read; empty: it can

  bool operator==(const NodeFile&) const = default;
};

// Head to remote: start this program, the connection to the host of another node (a peer), with pipes.
struct StartPeer {
  int node = 0;
  std::vector<std::string> argv;

  bool operator==(const StartPeer&) const = default;
};

// Either way: bytes from and to that connection. From the head, none of them: its end.
struct PeerBytes {
  int node = 0;
  std::string bytes;

  bool operator==(const PeerBytes&) const = default;
};

// Remote to head: that connection has ended, and all that came from it was sent.
struct PeerEnd {
  int node = 0;
  ExitStatus status{};
  std::string errors{};  // the last that its program wrote to standard error

  bool operator==(const PeerEnd&) const = default;
};

// Remote to head: the node's launch, or the pipe to it, has taken so many bytes more of its input.
struct NodeTook {
  std::int64_t bytes = 0;

  bool operator==(const NodeTook&) const = default;
};

using HostMessage =
    std::variant<NodeJob, NodeReady, NodeCannot, ReachQuestion, ReachAnswer, NodeGo, NodeSignal, NodeOutput, NodeInput,
                 HostBeat, NodeEnd, NodeShown, NodeFile, StartPeer, PeerBytes, PeerEnd, NodeTook>;

using MessageKind = std::size_t;  // the place of a message in HostMessage, from 1 on
constexpr MessageKind last_message_kind = std::variant_size_v<HostMessage>;

inline MessageKind kind_of(const HostMessage& message) { return message.index() + 1; }
std::string_view kind_name(MessageKind kind);  // "job"; REQUIRES: 1 <= kind <= last_message_kind

constexpr std::size_t longest_body = std::size_t{8} << 20;
constexpr std::size_t longest_output = std::size_t{64} << 10;  // bytes in one NodeOutput, NodeInput or PeerBytes
constexpr std::size_t longest_report = std::size_t{1} << 20;
constexpr std::size_t longest_facts = std::size_t{64} << 10;       // NodeReady::facts
constexpr std::size_t most_reach_targets = 256;                    // of addresses and targets in one ReachQuestion
constexpr std::size_t longest_words = 1'000'000;                   // NodeJob::args, NodeGo::options
constexpr std::size_t longest_environment = std::size_t{4} << 20;  // NodeJob::env

// Whether a path leads from a folder to a file in it or below it, by its text alone.
bool is_inner_path(std::string_view path);

// What words take of these limits: as execve(2) counts them, each with a zero byte and a pointer.
std::size_t counted_size(const std::vector<std::string>& words);

// How long the body of such a message may be. A message within its limits has one within this.
std::size_t longest_body_of(MessageKind kind);

// Output, input and a peer's bytes are their bytes (output: one byte before says which stream; a peer's: four bytes say
// which node). All others are JSON, in which a text
// that is not printable ASCII is {"b64": ...}: arguments and variables may be any bytes but zero. A report, a reason
// and the other texts for people are cut to what the other side takes; all else must be within its limits, or the other
// side refuses it.
void append_body(std::string& bytes, const HostMessage& message);

// REQUIRES: 1 <= kind <= last_message_kind
Result<HostMessage> parse_body(MessageKind kind, std::string_view body);

}  // namespace launch
