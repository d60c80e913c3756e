#include "launch/core/hosts/host_messages.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/hosts/body_texts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using namespace body_texts;

using BodyJson = nlohmann::json;

constexpr int most_nodes_of_job = 1'000'000;
constexpr int most_umask = 0777;
constexpr int most_workers_of_host = 1'000'000;
constexpr int most_port_number = 65'535;
constexpr int most_signal = 64;
constexpr std::int64_t most_taken = std::int64_t{1} << 40U;
constexpr int most_exit_code = 255;
constexpr std::int64_t least_silence_ms = 1'000;
constexpr std::int64_t most_silence_ms = 86'400'000;
constexpr std::size_t longest_word_line = 255;  // a hostname, an address, a boot id
constexpr std::size_t longest_reason = 1'000;
constexpr std::size_t longest_folder = 4'096;

constexpr std::array<std::string_view, last_message_kind> kind_names = {
    "job",  "ready", "cannot", "reach", "reached", "go",         "signal",   "output", "input",
    "beat", "end",   "shown",  "file",  "peer",    "peer bytes", "peer end", "took"};

constexpr MessageKind output_kind = 8;
constexpr MessageKind input_kind = 9;
static_assert(std::is_same_v<std::variant_alternative_t<output_kind - 1, HostMessage>, NodeOutput>);
static_assert(std::is_same_v<std::variant_alternative_t<input_kind - 1, HostMessage>, NodeInput>);
constexpr MessageKind peer_bytes_kind = 15;
static_assert(std::is_same_v<std::variant_alternative_t<peer_bytes_kind - 1, HostMessage>, PeerBytes>);
constexpr std::size_t peer_head = 4;
constexpr std::size_t longest_errors = 4'096;

BodyJson write_text(const std::string& text) {
  const auto plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) return text;
  return {{"b64", encode_base64(text)}};
}

BodyJson write_texts(const std::vector<std::string>& texts) {
  BodyJson list = BodyJson::array();
  for (const std::string& text : texts) list.push_back(write_text(text));
  return list;
}

BodyJson write_line(const std::string& text, std::size_t longest) {
  return write_text(without_controls(text, longest));
}

BodyJson write_lines(const std::vector<std::string>& texts, std::size_t longest) {
  BodyJson list = BodyJson::array();
  for (const std::string& text : texts) list.push_back(write_line(text, longest));
  return list;
}

std::optional<std::vector<ReachTarget>> read_targets(const JsonValue& value) {
  const auto items = value.list();
  if (!items || items->size() > most_reach_targets) return std::nullopt;
  Needed need;
  std::vector<ReachTarget> targets;
  for (const JsonValue& item : *items) {
    ReachTarget one;
    one.address = need(read_line(item["address"], longest_word_line));
    one.port = static_cast<std::uint16_t>(need(item["port"].whole(0, most_port_number)));
    one.token = need(read_line(item["token"], longest_word_line));
    targets.push_back(std::move(one));
  }
  return need.met() ? std::optional(std::move(targets)) : std::nullopt;
}

// The members of a body; knows the first that was not there as it must be.
class BodyParts {
 public:
  explicit BodyParts(std::string_view json) : object_(read_json(json, {.size = longest_body, .depth = 8})) {}

  bool is_object() const { return object_.is_object(); }
  std::string_view fault() const { return fault_; }

  int whole(std::string_view name, int least, int greatest) { return need(name, object_[name].whole(least, greatest)); }
  std::uint16_t port() { return static_cast<std::uint16_t>(whole("port", 0, most_port_number)); }
  std::int64_t silence() {
    return need("silence_ms", object_["silence_ms"].whole64(least_silence_ms, most_silence_ms));
  }
  std::int64_t taken() { return need("bytes", object_["bytes"].whole64(0, most_taken)); }
  bool flag(std::string_view name) { return need(name, object_[name].flag()); }
  // Of members that an older version does not write.
  bool has(std::string_view name) const { return object_[name].present(); }
  std::string text(std::string_view name, std::size_t longest) { return need(name, read_text(object_[name], longest)); }
  std::string word(std::string_view name, std::size_t longest) { return need(name, read_word(object_[name], longest)); }
  std::string inner_path(std::string_view name, std::size_t longest) {
    auto path = read_word(object_[name], longest);
    return need(name, path && is_inner_path(*path) ? std::move(path) : std::nullopt);
  }
  std::string line(std::string_view name, std::size_t longest) { return need(name, read_line(object_[name], longest)); }
  std::vector<std::string> words(std::string_view name, std::size_t most) {
    return need(name, read_words(object_[name], most));
  }
  std::vector<std::string> lines(std::string_view name, std::size_t longest) {
    return need(name, read_lines(object_[name], longest));
  }
  std::vector<ReachTarget> targets(std::string_view name) { return need(name, read_targets(object_[name])); }

 private:
  template <class T>
  T need(std::string_view name, std::optional<T> part) {
    if (!part && fault_.empty()) fault_ = name;
    return part ? *std::move(part) : T{};
  }

  JsonValue object_;
  std::string_view fault_;
};

// A kind of message as JSON, in both directions.

BodyJson write(const NodeJob& job) {
  return {{"node", job.node},
          {"nodes", job.nodes},
          {"args", write_texts(job.args)},
          {"env", write_texts(job.env)},
          {"folder", write_text(job.folder)},
          {"umask", job.umask},
          {"keeps_output", job.keeps_output},
          {"port", job.port},
          {"token", write_line(job.token, longest_word_line)},
          {"gathers_logs", job.gathers_logs},
          {"logs", write_text(job.logs)},
          {"checks", job.checks},
          {"silence_ms", job.silence_ms}};
}

void read(BodyParts& parts, NodeJob& job) {
  job.nodes = parts.whole("nodes", 1, most_nodes_of_job);
  job.node = parts.whole("node", 0, job.nodes - 1);
  job.args = parts.words("args", longest_words);
  job.env = parts.words("env", longest_environment);
  job.folder = parts.word("folder", longest_folder);
  job.umask = parts.whole("umask", 0, most_umask);
  job.keeps_output = parts.flag("keeps_output");
  job.port = parts.port();
  job.token = parts.line("token", longest_word_line);
  if (parts.has("gathers_logs")) job.gathers_logs = parts.flag("gathers_logs");
  if (parts.has("logs")) job.logs = parts.word("logs", longest_folder);
  job.checks = parts.has("checks") && parts.flag("checks");
  job.silence_ms = parts.silence();
}

BodyJson write(const NodeReady& ready) {
  return {{"hostname", write_line(ready.hostname, longest_word_line)},
          {"boot_id", write_line(ready.boot_id, longest_word_line)},
          {"addresses", write_lines(ready.addresses, longest_word_line)},
          {"interfaces", write_lines(ready.interfaces, longest_word_line)},
          {"facts", write_text(ready.facts.size() <= longest_facts ? ready.facts : "")},
          {"port", ready.port},
          {"workers", ready.workers},
          {"machine", write_line(ready.machine, longest_word_line)}};
}

void read(BodyParts& parts, NodeReady& ready) {
  ready.hostname = parts.line("hostname", longest_word_line);
  ready.boot_id = parts.line("boot_id", longest_word_line);
  ready.addresses = parts.lines("addresses", longest_word_line);
  ready.interfaces = parts.lines("interfaces", longest_word_line);
  ready.port = parts.port();
  if (parts.has("machine")) ready.machine = parts.line("machine", longest_word_line);
  if (parts.has("workers")) ready.workers = parts.whole("workers", 0, most_workers_of_host);
  if (parts.has("facts")) ready.facts = parts.text("facts", longest_facts);
}

BodyJson write(const NodeCannot& cannot) {
  return {{"reason", write_line(cannot.reason, longest_reason)}, {"exit_code", cannot.exit_code}};
}

void read(BodyParts& parts, NodeCannot& cannot) {
  cannot.reason = parts.line("reason", longest_reason);
  cannot.exit_code = parts.whole("exit_code", 1, most_exit_code);
}

BodyJson write(const ReachQuestion& question) {
  BodyJson targets = BodyJson::array();
  for (const ReachTarget& one : question.targets)
    targets.push_back({{"address", write_line(one.address, longest_word_line)},
                       {"port", one.port},
                       {"token", write_line(one.token, longest_word_line)}});
  return {{"addresses", write_lines(question.addresses, longest_word_line)},
          {"port", question.port},
          {"targets", std::move(targets)},
          {"token", write_line(question.token, longest_word_line)}};
}

void read(BodyParts& parts, ReachQuestion& question) {
  question.addresses = parts.lines("addresses", longest_word_line);
  question.port = parts.port();
  question.token = parts.line("token", longest_word_line);
  if (parts.has("targets")) question.targets = parts.targets("targets");
}

BodyJson write(const ReachAnswer& answer) { return {{"faults", write_lines(answer.faults, longest_reason)}}; }

void read(BodyParts& parts, ReachAnswer& answer) { answer.faults = parts.lines("faults", longest_reason); }

BodyJson write(const NodeGo& go) {
  return {{"args", write_texts(go.args)}, {"meeting", write_line(go.meeting, longest_word_line)}, {"input", go.input}};
}

void read(BodyParts& parts, NodeGo& go) {
  go.args = parts.words("args", longest_words);
  go.meeting = parts.line("meeting", longest_word_line);
  go.input = parts.has("input") && parts.flag("input");
}

BodyJson write(const NodeSignal& signal) { return {{"number", signal.number}}; }

void read(BodyParts& parts, NodeSignal& signal) { signal.number = parts.whole("number", 1, most_signal); }

BodyJson write(const HostBeat&) { return BodyJson::object(); }

void read(BodyParts&, HostBeat&) {}

BodyJson write(const NodeTook& took) { return {{"bytes", took.bytes}}; }

void read(BodyParts& parts, NodeTook& took) { took.bytes = parts.taken(); }

BodyJson write(const NodeShown&) { return BodyJson::object(); }

void read(BodyParts&, NodeShown&) {}

BodyJson write(const NodeFile& file) {
  return {{"name", write_text(file.name)},
          {"first", file.first},
          {"bytes", write_text(file.bytes)},
          {"fault", write_line(file.fault, longest_reason)}};
}

void read(BodyParts& parts, NodeFile& file) {
  file.name = parts.inner_path("name", longest_folder);
  file.first = parts.flag("first");
  file.bytes = parts.text("bytes", longest_output);
  file.fault = parts.line("fault", longest_reason);
}

BodyJson write(const NodeEnd& end) {
  const std::string_view report = beginning_of(end.report, longest_report);
  return {{"exit_code", end.exit_code},
          {"report", write_text(std::string(report))},
          {"json", write_text(end.json.size() <= longest_report ? end.json : "")},
          {"signal", end.signal},
          {"files_follow", end.files_follow}};
}

void read(BodyParts& parts, NodeEnd& end) {
  end.exit_code = parts.whole("exit_code", 0, most_exit_code);
  end.report = parts.text("report", longest_report);
  end.json = parts.text("json", longest_report);
  if (parts.has("signal")) end.signal = parts.whole("signal", 0, most_signal);
  if (parts.has("files_follow")) end.files_follow = parts.flag("files_follow");
}

BodyJson write(const StartPeer& peer) { return {{"node", peer.node}, {"argv", write_texts(peer.argv)}}; }

void read(BodyParts& parts, StartPeer& peer) {
  peer.node = parts.whole("node", 0, most_nodes_of_job);
  peer.argv = parts.words("argv", longest_words);
}

BodyJson write(const PeerEnd& end) {
  const auto kept = end.errors.size() - std::min(end.errors.size(), longest_errors);
  return {{"node", end.node},
          {"signalled", end.status.kind == ExitStatus::Kind::signalled},
          {"value", end.status.value},
          {"errors", write_text(end.errors.substr(kept))}};
}

void read(BodyParts& parts, PeerEnd& end) {
  end.node = parts.whole("node", 0, most_nodes_of_job);
  end.status.kind = parts.flag("signalled") ? ExitStatus::Kind::signalled : ExitStatus::Kind::exited;
  end.status.value = parts.whole("value", 0, most_exit_code);
  end.errors = parts.text("errors", longest_errors);
}

// What is wrong with a body that is to become this message; nothing if it did.
template <class T>
std::string fault_of_reading(std::string_view body, T& message) {
  BodyParts parts(body);
  if (!parts.is_object()) return "that is not JSON";
  read(parts, message);
  return parts.fault().empty() ? "" : fmt::format("without a valid \"{}\"", parts.fault());
}

std::string fault_of_reading(std::string_view body, NodeOutput& output) {
  if (body.empty()) return "without its stream";
  if (body[0] != 0 && body[0] != 1) return fmt::format("of an unknown stream {}", static_cast<unsigned char>(body[0]));
  output.errors = body[0] == 1;
  output.bytes = body.substr(1);
  return "";
}

std::string fault_of_reading(std::string_view body, NodeInput& input) {
  input.bytes = body;
  return "";
}

std::string fault_of_reading(std::string_view body, PeerBytes& peer) {
  if (body.size() < peer_head) return "without its node";
  unsigned node = 0;
  for (const char c : body.substr(0, peer_head)) node = node << 8U | static_cast<unsigned char>(c);
  if (node > most_nodes_of_job) return fmt::format("of a node {}", node);
  peer.node = static_cast<int>(node);
  peer.bytes = body.substr(peer_head);
  return "";
}

template <std::size_t... Places>
HostMessage message_of(MessageKind kind, std::index_sequence<Places...>) {
  HostMessage message;
  static_cast<void>((... || (Places + 1 == kind && (message.emplace<Places>(), true))));
  return message;
}

struct BodyWriter {
  std::string& bytes;

  void operator()(const NodeOutput& output) const {
    bytes += static_cast<char>(output.errors);
    bytes += output.bytes;
  }
  void operator()(const NodeInput& input) const { bytes += input.bytes; }
  void operator()(const PeerBytes& peer) const {
    const auto node = static_cast<unsigned>(peer.node);
    for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(node >> shift & 255U);
    bytes += peer.bytes;
  }
  template <class T>
  void operator()(const T& message) const {
    bytes += write(message).dump();
  }
};

}  // namespace

bool is_inner_path(std::string_view path) {
  const auto parts = split(path, '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

std::string_view kind_name(MessageKind kind) { return kind_names[kind - 1]; }

std::size_t counted_size(const std::vector<std::string>& words) {
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1 + sizeof(std::uint64_t);
  return size;
}

std::size_t longest_body_of(MessageKind kind) {
  if (kind == output_kind) return longest_output + 1;
  if (kind == peer_bytes_kind) return longest_output + peer_head;
  return kind == input_kind ? longest_output : longest_body;
}

void append_body(std::string& bytes, const HostMessage& message) { std::visit(BodyWriter{bytes}, message); }

Result<HostMessage> parse_body(MessageKind kind, std::string_view body) {
  HostMessage message = message_of(kind, std::make_index_sequence<last_message_kind>());
  const auto read_it = [&](auto& value) { return fault_of_reading(body, value); };
  const std::string fault = std::visit(read_it, message);
  if (!fault.empty()) return protocol_error(fmt::format("a frame {} {}", kind_name(kind), fault));
  return message;
}

}  // namespace launch
