#include "launch/core/c10d/rendezvous_pickle.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/c10d/pickle_reader.hpp"

#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono;

constexpr std::size_t max_fields = 32;

// ---- writing: a fixed form. What is used often is kept in the pickle's memo and fetched by its number.

class PickleWriter {
 public:
  std::string write(const ElasticState& state) {
    out_ = "\x80\x04";
    text("torch.distributed.elastic.rendezvous.dynamic_rendezvous");
    keep(module);
    text("_RendezvousState");
    out_ += "\x93)\x81}(";  // STACK_GLOBAL, EMPTY_TUPLE, NEWOBJ, EMPTY_DICT, MARK
    field("round", state.round);
    field("complete", state.complete);
    text("deadline");
    if (state.deadline) {
      time(*state.deadline);
    } else {
      out_ += 'N';
    }
    field("closed", state.closed);
    text("participants");
    out_ += "}(";
    for (const auto& [desc, rank] : state.participants) {
      node(desc);
      number(rank);
    }
    out_ += 'u';
    nodes("wait_list", state.wait_list);
    nodes("redundancy_list", state.redundancy_list);
    text("last_heartbeats");
    out_ += "}(";
    for (const auto& [desc, heartbeat] : state.last_heartbeats) {
      node(desc);
      time(heartbeat);
    }
    out_ += "uub.";  // SETITEMS of the dict, SETITEMS of the state, BUILD, STOP
    return std::move(out_);
  }

 private:
  enum Slot {
    module,
    node_class,
    addr,
    pid,
    local_id,
    time_class,
    utc,
    slots
  };

  void keep(Slot slot) {
    out_ += '\x94';
    kept_[slot] = memo_++;
  }
  bool fetch(Slot slot) {
    if (kept_[slot] < 0) return false;
    out_ += 'h';
    out_ += static_cast<char>(kept_[slot]);
    return true;
  }

  void text(std::string_view bytes) {
    if (bytes.size() < 256) {
      out_ += '\x8c';
      out_ += static_cast<char>(bytes.size());
    } else {
      out_ += 'X';
      little_endian(bytes.size(), 4);
    }
    out_ += bytes;
  }
  void kept_text(Slot slot, std::string_view bytes) {
    if (fetch(slot)) return;
    text(bytes);
    keep(slot);
  }
  void number(std::int64_t value) {
    if (value >= 0 && value < 256) {
      out_ += 'K';
      little_endian(static_cast<std::uint64_t>(value), 1);
    } else {
      out_ += 'J';
      little_endian(static_cast<std::uint64_t>(value), 4);
    }
  }
  void little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> 8U * static_cast<unsigned>(i) & 255U);
  }
  void field(std::string_view name, std::int64_t value) {
    text(name);
    number(value);
  }
  void field(std::string_view name, bool value) {
    text(name);
    out_ += value ? '\x88' : '\x89';
  }
  void nodes(std::string_view name, const std::set<NodeDesc>& set) {
    text(name);
    out_ += '\x8f';  // EMPTY_SET
    if (set.empty()) return;
    out_ += '(';
    for (const NodeDesc& desc : set) node(desc);
    out_ += '\x90';  // ADDITEMS
  }
  void node(const NodeDesc& desc) {
    if (!fetch(node_class)) {
      fetch(module);
      text("_NodeDesc");
      out_ += '\x93';
      keep(node_class);
    }
    out_ += ")\x81}(";
    kept_text(addr, "addr");
    text(desc.addr);
    kept_text(pid, "pid");
    number(desc.pid);
    kept_text(local_id, "local_id");
    number(desc.local_id);
    out_ += "ub";
  }
  void time(WallTime at) {
    if (!fetch(time_class)) {
      text("datetime");
      text("datetime");
      out_ += '\x93';
      keep(time_class);
    }
    time_bytes(at);
    if (!fetch(utc)) {
      text("datetime");
      text("timezone");
      out_ += '\x93';
      text("datetime");
      text("timedelta");
      out_ += "\x93K";
      out_ += '\0';
      out_ += 'K';
      out_ += '\0';
      out_ += 'K';
      out_ += '\0';
      out_ += "\x87R\x85R";  // TUPLE3, REDUCE, TUPLE1, REDUCE
      keep(utc);
    }
    out_ += "\x86R";  // TUPLE2, REDUCE
  }
  // Python's state of a datetime: year, month, day, hour, minute, second, microsecond, big-endian.
  void time_bytes(WallTime at) {
    const auto since = sys_time<microseconds>(at.time_since_epoch());
    const auto day = floor<days>(since);
    const year_month_day date(day);
    const hh_mm_ss clock(since - day);
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    const auto micro = static_cast<unsigned>(clock.subseconds().count());
    out_ += "C\x0a";
    for (const unsigned byte :
         {year >> 8U, year, static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
          static_cast<unsigned>(clock.hours().count()), static_cast<unsigned>(clock.minutes().count()),
          static_cast<unsigned>(clock.seconds().count()), micro >> 16U, micro >> 8U, micro})
      out_ += static_cast<char>(byte & 255U);
  }

  std::string out_;
  int memo_ = 0;
  int kept_[slots] = {-1, -1, -1, -1, -1, -1, -1};
};

// ---- reading: what PickleReader found, field by field

class StateReader {
 public:
  explicit StateReader(const PickleReader& pickle) : pickle_(pickle) {}

  Result<ElasticState> read() {
    const PickleValue root = pickle_.root();
    if (root.kind != PickleKind::state) return fault("it holds no state");
    ElasticState state;
    for (const auto& [name, value] : fields(root)) {
      if (name == "round") {
        state.round = number(value);
      } else if (name == "complete") {
        state.complete = truth(value);
      } else if (name == "deadline") {
        if (value.kind != PickleKind::none) state.deadline = time(value);
      } else if (name == "closed") {
        state.closed = truth(value);
      } else if (name == "participants") {
        for (const auto& [key, rank] : items(value)) state.participants[node(key)] = static_cast<int>(number(rank));
      } else if (name == "wait_list") {
        state.wait_list = nodes(value);
      } else if (name == "redundancy_list") {
        state.redundancy_list = nodes(value);
      } else if (name == "last_heartbeats") {
        for (const auto& [key, at] : items(value)) state.last_heartbeats[node(key)] = time(at);
      } else {
        wrong(fmt::format("a state has no field {}", shown_name(name)));
      }
      if (!fault_.empty()) return fault(fault_);
    }
    return state;
  }

 private:
  using Pair = std::pair<PickleValue, PickleValue>;

  static Error fault(const std::string& what) { return protocol_error("the state of the rendezvous: " + what); }
  static std::string shown_name(std::string_view name) { return shown(name.substr(0, 40)); }
  void wrong(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }

  std::vector<Pair> items(const PickleValue& dict) {
    std::vector<Pair> result;
    if (dict.kind != PickleKind::dict) {
      wrong("a dict is missing");
      return result;
    }
    const auto& list = pickle_.items(dict);
    if (list.size() / 2 > max_state_nodes) {
      wrong(fmt::format("{} nodes are over the limit of {}", list.size() / 2, max_state_nodes));
      return result;
    }
    for (std::size_t i = 0; i + 1 < list.size(); i += 2)
      result.emplace_back(pickle_.value(list[i]), pickle_.value(list[i + 1]));
    return result;
  }
  std::vector<std::pair<std::string, PickleValue>> fields(const PickleValue& object) {
    std::vector<std::pair<std::string, PickleValue>> result;
    PickleValue dict = object;
    dict.kind = PickleKind::dict;
    if (pickle_.items(dict).size() > max_fields) {  // a million places may refer to one object, and each reads it
      wrong("an object has too many fields");
      return result;
    }
    for (const auto& [name, value] : items(dict)) {
      if (name.kind != PickleKind::text) wrong("a field has no name");
      result.emplace_back(std::string(name.text), value);
    }
    return result;
  }
  std::int64_t number(const PickleValue& value) {
    if (value.kind != PickleKind::number || value.number < 0 || value.number > INT32_MAX) wrong("a number is wrong");
    return value.number;
  }
  bool truth(const PickleValue& value) {
    if (value.kind != PickleKind::truth) wrong("a truth value is missing");
    return value.number != 0;
  }
  NodeDesc node(const PickleValue& value) {
    NodeDesc desc;
    if (value.kind != PickleKind::node || !fault_.empty()) {
      wrong("a node is missing");
      return desc;
    }
    bool has_addr = false;
    for (const auto& [name, part] : fields(value)) {
      if (name == "addr" && part.kind == PickleKind::text) {
        desc.addr = part.text;
        has_addr = true;
      } else if (name == "pid") {
        desc.pid = number(part);
      } else if (name == "local_id") {
        desc.local_id = number(part);
      } else {
        wrong(name == "fqdn" ? "it was written by a torchrun older than PyTorch 2.0, which cannot take part in this job"
                             : fmt::format("a node has no field {}", shown_name(name)));
      }
    }
    if (!has_addr) wrong("a node has no address");
    return desc;
  }
  std::set<NodeDesc> nodes(const PickleValue& value) {
    std::set<NodeDesc> result;
    if (value.kind != PickleKind::set) {
      wrong("a set is missing");
      return result;
    }
    const auto& list = pickle_.items(value);
    if (list.size() > max_state_nodes) wrong(fmt::format("{} nodes are over the limit", list.size()));
    for (const auto index : list) {
      if (!fault_.empty()) break;
      result.insert(node(pickle_.value(index)));
    }
    return result;
  }
  WallTime time(const PickleValue& value) {
    if (value.kind == PickleKind::naive_time)
      wrong("its times have no time zone, as before PyTorch 2.5; such a torchrun cannot take part in this job");
    if (value.kind != PickleKind::time) wrong("a time is missing");
    return WallTime(microseconds(value.number));
  }

  const PickleReader& pickle_;
  std::string fault_;
};

}  // namespace

std::string pickle_state(const ElasticState& state) { return PickleWriter().write(state); }

Result<ElasticState> unpickle_state(std::string_view bytes) {
  PickleReader reader(bytes);
  if (Status read = reader.read(); !read) return read.error();
  return StateReader(reader).read();
}

std::string write_state(const ElasticState& state) { return encode_base64(pickle_state(state)); }

Result<ElasticState> read_state(std::string_view text) {
  if (text == no_state) return ElasticState();
  const auto bytes = decode_base64(text);
  if (!bytes) return protocol_error("the state of the rendezvous is not base64 text");
  return unpickle_state(*bytes);
}

}  // namespace launch
