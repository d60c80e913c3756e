#include "launch/core/store/store_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace launch {
namespace {

// PyTorch sends numbers in the byte order of its host; every host that trains is little-endian.
static_assert(std::endian::native == std::endian::little);

enum class Field : std::uint8_t {
  end,      // of a request, or of one item of a list
  count,    // u64: how often the fields after it repeat
  key,      // u64 length and as many bytes
  payload,  // the same with another limit
  i64,
  u32,
};

struct CommandForm {
  std::string_view name;
  int modern;  // opcode; -1: the dialect lacks it
  int old;
  std::array<Field, 5> fields;
};

// In the order of Request's alternatives.
enum class Kind : std::uint8_t {
  validate,
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  count_keys,
  watch_key,
  delete_key,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
  queue_push,
  queue_pop,
  queue_length,
  list_keys,
  barrier,
  attend,
  leave_will,
};

using enum Field;
constexpr std::array<CommandForm, std::variant_size_v<Request>> commands = {{
    {"VALIDATE", 0, -1, {u32}},
    {"SET", 1, 0, {key, payload}},
    {"COMPARE_SET", 2, 1, {key, payload, payload}},
    {"GET", 3, 2, {key}},
    {"ADD", 4, 3, {key, i64}},
    {"CHECK", 5, 4, {count, key}},
    {"WAIT", 6, 5, {count, key}},
    {"GETNUMKEYS", 7, 6, {}},
    {"WATCH_KEY", -1, 7, {key}},
    {"DELETE_KEY", 8, 8, {key}},
    {"APPEND", 9, -1, {key, payload}},
    {"MULTI_GET", 10, -1, {count, key}},
    {"MULTI_SET", 11, -1, {count, key, payload}},
    {"CANCEL_WAIT", 12, -1, {}},
    {"PING", 13, -1, {u32}},
    {"QUEUE_PUSH", 14, -1, {key, payload}},
    {"QUEUE_POP", 15, -1, {key}},
    {"QUEUE_LEN", 16, -1, {key}},
    {"LIST_KEYS", 17, -1, {}},
    {"BARRIER", 18, -1, {key, i64}},
    {"ATTEND", 128, -1, {key, payload}},
    {"LEAVE_WILL", 129, -1, {payload}},
}};
static_assert(commands[static_cast<std::size_t>(Kind::leave_will)].name == "LEAVE_WILL");

constexpr std::size_t no_command = commands.size();
using Opcodes = std::array<std::size_t, 130>;

constexpr Opcodes opcodes_of(int CommandForm::*dialect) {
  Opcodes opcodes{};
  opcodes.fill(no_command);
  for (std::size_t command = 0; command < commands.size(); ++command) {
    const int opcode = commands[command].*dialect;
    if (opcode >= 0) opcodes[static_cast<std::size_t>(opcode)] = command;
  }
  return opcodes;
}

constexpr Opcodes modern_opcodes = opcodes_of(&CommandForm::modern);
constexpr Opcodes old_opcodes = opcodes_of(&CommandForm::old);
constexpr std::string_view modern_hello{"\x00\xCE\xF7\x85\x3C", 5};

template <class Number>
Number read_number(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

template <class Number>
void append_number(std::string& out, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

// The fields of a request; all its lengths were checked before.
class Fields {
 public:
  explicit Fields(const char* at) : at_(at) {}

  template <class Number>
  Number number() {
    const auto number = read_number<Number>(at_);
    at_ += sizeof number;
    return number;
  }

  std::string_view bytes() {
    const auto length = number<std::uint64_t>();
    const std::string_view bytes(at_, length);
    at_ += length;
    return bytes;
  }

  std::vector<std::string_view> keys() {
    std::vector<std::string_view> keys(number<std::uint64_t>());
    for (std::string_view& key : keys) key = bytes();
    return keys;
  }

  std::vector<SetRequest> entries() {
    std::vector<SetRequest> entries(number<std::uint64_t>());
    for (SetRequest& entry : entries) entry = SetRequest{bytes(), bytes()};
    return entries;
  }

 private:
  const char* at_;
};

Request decode(Kind kind, Fields fields) {
  switch (kind) {
    case Kind::validate:
      return ValidateRequest{fields.number<std::uint32_t>()};
    case Kind::set:
      return SetRequest{fields.bytes(), fields.bytes()};
    case Kind::compare_set:
      return CompareSetRequest{fields.bytes(), fields.bytes(), fields.bytes()};
    case Kind::get:
      return GetRequest{fields.bytes()};
    case Kind::add:
      return AddRequest{fields.bytes(), fields.number<std::int64_t>()};
    case Kind::check:
      return CheckRequest{fields.keys()};
    case Kind::wait:
      return WaitRequest{fields.keys()};
    case Kind::count_keys:
      return CountKeysRequest{};
    case Kind::watch_key:
      return WatchKeyRequest{fields.bytes()};
    case Kind::delete_key:
      return DeleteKeyRequest{fields.bytes()};
    case Kind::append:
      return AppendRequest{fields.bytes(), fields.bytes()};
    case Kind::multi_get:
      return MultiGetRequest{fields.keys()};
    case Kind::multi_set:
      return MultiSetRequest{fields.entries()};
    case Kind::cancel_wait:
      return CancelWaitRequest{};
    case Kind::ping:
      return PingRequest{fields.number<std::uint32_t>()};
    case Kind::queue_push:
      return QueuePushRequest{fields.bytes(), fields.bytes()};
    case Kind::queue_pop:
      return QueuePopRequest{fields.bytes()};
    case Kind::queue_length:
      return QueueLengthRequest{fields.bytes()};
    case Kind::list_keys:
      return ListKeysRequest{};
    case Kind::barrier:
      return BarrierRequest{fields.bytes(), fields.number<std::int64_t>()};
    case Kind::attend:
      return AttendRequest{fields.bytes(), fields.bytes()};
    case Kind::leave_will:
      return LeaveWillRequest{fields.bytes()};
  }
  return ValidateRequest{};
}

// Appends what follows the opcode.
struct Encoder {
  std::string& out;

  template <class... Parts>
  void bytes(Parts... parts) const {
    (append_bytes(out, parts), ...);
  }

  void keys(const std::vector<std::string_view>& keys) const {
    append_number<std::uint64_t>(out, keys.size());
    for (const std::string_view key : keys) append_bytes(out, key);
  }

  // A request with no field, with only a key, or with only keys.
  template <class Plain>
  void operator()(const Plain& request) const {
    if constexpr (requires { request.key; }) bytes(request.key);
    if constexpr (requires { request.keys; }) keys(request.keys);
  }
  void operator()(const ValidateRequest& request) const { append_u32(out, request.magic); }
  void operator()(const SetRequest& request) const { bytes(request.key, request.payload); }
  void operator()(const CompareSetRequest& request) const { bytes(request.key, request.expected, request.desired); }
  void operator()(const AddRequest& request) const {
    bytes(request.key);
    append_i64(out, request.amount);
  }
  void operator()(const AppendRequest& request) const { bytes(request.key, request.payload); }
  void operator()(const MultiSetRequest& request) const {
    append_number<std::uint64_t>(out, request.entries.size());
    for (const SetRequest& entry : request.entries) bytes(entry.key, entry.payload);
  }
  void operator()(const PingRequest& request) const { append_u32(out, request.nonce); }
  void operator()(const QueuePushRequest& request) const { bytes(request.key, request.payload); }
  void operator()(const BarrierRequest& request) const {
    bytes(request.key);
    append_i64(out, request.world_size);
  }
  void operator()(const AttendRequest& request) const { bytes(request.key, request.text); }
  void operator()(const LeaveWillRequest& request) const { bytes(request.text); }
};

}  // namespace

char* RequestReader::prepare(std::size_t wanted) {
  if (begin_ == end_) begin_ = end_ = 0;
  // Moving no more bytes than were consumed keeps the whole cost linear.
  if (room() < wanted && begin_ > 0 && begin_ >= buffered()) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, buffered());
    end_ -= begin_;
    begin_ = 0;
  }
  if (room() < wanted) move_to(buffered() + std::max(wanted, buffered()));
  return buffer_.get() + end_;
}

void RequestReader::commit(std::size_t received) { end_ += received; }

Result<std::optional<Request>> RequestReader::next() {
  if (dialect_ == Dialect::unknown) detect_dialect();
  Result<bool> whole = dialect_ == Dialect::unknown ? false : scan();
  if (!whole) return std::move(whole).error();
  if (!*whole) {
    rest();
    return std::optional<Request>{};
  }
  const Fields fields(buffer_.get() + begin_ + 1);
  begin_ += std::exchange(scanned_, 0);
  return decode(static_cast<Kind>(command_), fields);
}

void RequestReader::detect_dialect() {
  const std::string_view head(buffer_.get() + begin_, std::min(buffered(), modern_hello.size()));
  if (head == modern_hello) {
    dialect_ = Dialect::modern;
  } else if (!modern_hello.starts_with(head)) {
    dialect_ = Dialect::old;
  }
}

Result<bool> RequestReader::start() {
  if (buffered() == 0) return false;
  const auto opcode = static_cast<unsigned char>(buffer_[begin_]);
  const Opcodes& opcodes = dialect_ == Dialect::modern ? modern_opcodes : old_opcodes;
  command_ = opcode < opcodes.size() ? opcodes[opcode] : no_command;
  if (command_ == no_command) {
    return protocol_error(fmt::format("read a request: opcode {} is unknown in the {} dialect of the store protocol",
                                      opcode, dialect_ == Dialect::modern ? "modern" : "old"));
  }
  scanned_ = 1;
  field_ = 0;
  items_ = 1;
  return true;
}

// True once the request at begin_ is whole; continues where it stopped for lack of bytes.
Result<bool> RequestReader::scan() {
  if (scanned_ == 0) {
    Result<bool> started = start();
    if (!started || !*started) return started;
  }
  while (items_ > 0) {
    if (commands[command_].fields[field_] == Field::end) {
      --items_;
      field_ = 1;  // only a list comes here twice, and its field 0 is the count
      continue;
    }
    Result<bool> there = scan_field();
    if (!there || !*there) return there;
  }
  return true;
}

Result<bool> RequestReader::scan_field() {
  const Field field = commands[command_].fields[field_];
  const char* at = buffer_.get() + begin_ + scanned_;
  const std::size_t arrived = buffered() - scanned_;
  std::size_t size = field == Field::u32 ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  if (arrived < size) return false;
  if (field == Field::key || field == Field::payload) {
    const auto length = read_number<std::uint64_t>(at);
    if (Status status = check_length(length); !status) return std::move(status).error();
    size += length;
    if (arrived < size) return false;
  } else if (field == Field::count) {
    items_ = read_number<std::uint64_t>(at);
    if (Status status = check_count(items_); !status) return std::move(status).error();
  }
  scanned_ += size;
  ++field_;
  return true;
}

Status RequestReader::check_length(std::uint64_t length) const {
  const CommandForm& command = commands[command_];
  const bool is_key = command.fields[field_] == Field::key;
  const std::size_t limit = is_key ? max_key_bytes : max_payload_bytes;
  if (length > limit) {
    return protocol_error(fmt::format("read {}: a {} of {} bytes is over the limit of {}", command.name,
                                      is_key ? "key" : "payload", length, limit));
  }
  const std::uint64_t total = scanned_ + sizeof length + length;
  if (total > max_request_bytes) {
    return protocol_error(fmt::format("read {}: a request of at least {} bytes is over the limit of {}", command.name,
                                      total, max_request_bytes));
  }
  return {};
}

Status RequestReader::check_count(std::uint64_t count) const {
  if (count <= max_keys) return {};
  return protocol_error(
      fmt::format("read {}: {} keys are over the limit of {}", commands[command_].name, count, max_keys));
}

// Frees the memory that a large request needed.
void RequestReader::rest() {
  const std::size_t enough = std::max(resting_bytes, 2 * buffered());
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (capacity_ > resting_bytes) {
      buffer_.reset();
      capacity_ = 0;
    }
  } else if (begin_ > 0 && capacity_ > 2 * enough) {
    move_to(enough);
  }
}

void RequestReader::move_to(std::size_t capacity) {
  auto buffer = std::make_unique_for_overwrite<char[]>(capacity);
  if (buffered() > 0) std::memcpy(buffer.get(), buffer_.get() + begin_, buffered());
  buffer_ = std::move(buffer);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

void encode(const Request& request, std::string& out) {
  const int opcode = commands[request.index()].modern;
  if (opcode < 0) return;
  append_u8(out, static_cast<std::uint8_t>(opcode));
  std::visit(Encoder{out}, request);
}

void append_u8(std::string& out, std::uint8_t value) { out.push_back(static_cast<char>(value)); }
void append_u32(std::string& out, std::uint32_t value) { append_number(out, value); }
void append_i64(std::string& out, std::int64_t value) { append_number(out, value); }

void append_bytes(std::string& out, std::string_view bytes) {
  append_number<std::uint64_t>(out, bytes.size());
  out.append(bytes);
}

std::int64_t read_i64(const char* bytes) { return read_number<std::int64_t>(bytes); }
std::uint32_t read_u32(const char* bytes) { return read_number<std::uint32_t>(bytes); }

}  // namespace launch
