#include "launch/core/c10d/pickle_reader.hpp"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono;

constexpr std::size_t max_values = 4'000'000;      // a state of 100,000 nodes has some two million
constexpr std::size_t max_containers = 1'000'000;  // each costs more than a value

struct Name {
  std::string_view module, name;
  PickleKind kind;
};

constexpr std::string_view rendezvous_module = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";
constexpr std::array<Name, 5> white_list{{
    {rendezvous_module, "_RendezvousState", PickleKind::state_class},
    {rendezvous_module, "_NodeDesc", PickleKind::node_class},
    {"datetime", "datetime", PickleKind::time_class},
    {"datetime", "timedelta", PickleKind::delta_class},
    {"datetime", "timezone", PickleKind::zone_class},
}};

}  // namespace

Status PickleReader::read() {
  while (step()) {
  }
  if (fault_.empty()) return {};
  return protocol_error(fmt::format("the state of the rendezvous: {} at byte {}; nothing was executed", fault_, at_));
}

bool PickleReader::fail(std::string_view why) {
  if (fault_.empty()) fault_ = why;
  return false;
}

bool PickleReader::step() {
  std::string_view opcode;
  if (!take(1, opcode)) return false;
  const auto code = static_cast<unsigned char>(opcode[0]);
  switch (code) {
    case 0x94:
      return memoize();
    case 'h':
      return fetch(1);
    case 'j':
      return fetch(4);
    case 0x93:
      return global();
    case ')':
      return tuple(0);
    case 0x85:
      return tuple(1);
    case 0x86:
      return tuple(2);
    case 0x87:
      return tuple(3);
    case 0x81:
      return new_object();
    case 'R':
      return reduce();
    case 'b':
      return build();
    case 's':
      return set_item();
    case 'u':
      return add_items(PickleKind::dict);
    case 0x90:
      return add_items(PickleKind::set);
    case '.':
      ended_ = stack_.size() == 1;
      return ended_ ? false : fail("a pickle that ends too early");
    default:
      return push_new(code);
  }
}

// Opcodes that make a value from their own bytes only, and the frame around everything.
bool PickleReader::push_new(unsigned char opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      std::uint64_t protocol = 0;
      if (!take_number(1, protocol)) return false;
      return protocol <= 5 || fail("a pickle of an unknown protocol");
    }
    case 0x95: {  // FRAME
      std::string_view ignored;
      return take(8, ignored);
    }
    case 0x8c:  // SHORT_BINUNICODE
      return push_text(1);
    case 'X':  // BINUNICODE
      return push_text(4);
    case 'C': {  // SHORT_BINBYTES
      std::uint64_t length = 0;
      std::string_view part;
      return take_number(1, length) && take(length, part) && push(PickleKind::bytes, 0, part);
    }
    case '}':
      return push_container(PickleKind::dict);
    case 0x8f:
      return push_container(PickleKind::set);
    case '(':
      return push(PickleKind::mark);
    case 0x88:
      return push(PickleKind::truth, 1);
    case 0x89:
      return push(PickleKind::truth, 0);
    case 'N':
      return push(PickleKind::none);
    case 'K':
      return push_number(1);
    case 'M':
      return push_number(2);
    case 'J':
      return push_number(4);
    default:
      return fail("an opcode that no rendezvous state has");
  }
}

// A number of four bytes is signed.
bool PickleReader::push_number(int size) {
  std::uint64_t number = 0;
  if (!take_number(size, number)) return false;
  return push(PickleKind::number, size < 4 ? static_cast<std::int64_t>(number) : static_cast<std::int32_t>(number));
}

bool PickleReader::take(std::size_t count, std::string_view& part) {
  if (bytes_.size() - at_ < count) return fail("a pickle that breaks off");
  part = bytes_.substr(at_, count);
  at_ += count;
  return true;
}

bool PickleReader::take_number(int size, std::uint64_t& number) {
  std::string_view part;
  if (!take(static_cast<std::size_t>(size), part)) return false;
  number = 0;
  for (int i = size - 1; i >= 0; --i)
    number = number << 8U | static_cast<unsigned char>(part[static_cast<std::size_t>(i)]);
  return true;
}

bool PickleReader::push(PickleKind kind, std::int64_t number, std::string_view text) {
  if (values_.size() >= max_values) return fail("too many values");
  stack_.push_back(static_cast<Index>(values_.size()));
  values_.push_back({kind, number, text});
  return true;
}

bool PickleReader::push_container(PickleKind kind) {
  if (lists_.size() >= max_containers) return fail("too many containers");
  lists_.emplace_back();
  return push(kind, static_cast<std::int64_t>(lists_.size()) - 1);
}

bool PickleReader::push_text(int length_size) {
  std::uint64_t length = 0;
  std::string_view part;
  return take_number(length_size, length) && take(length, part) && push(PickleKind::text, 0, part);
}

bool PickleReader::pop(Index& index) {
  if (stack_.empty() || value(stack_.back()).kind == PickleKind::mark) return fail("an operand that is missing");
  index = stack_.back();
  stack_.pop_back();
  return true;
}

bool PickleReader::pop_to_mark(std::vector<Index>& items) {
  std::size_t first = stack_.size();
  while (first > 0 && value(stack_[first - 1]).kind != PickleKind::mark) --first;
  if (first == 0) return fail("a mark that is missing");
  items.assign(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
  stack_.resize(first - 1);
  return true;
}

bool PickleReader::fetch(int size) {
  std::uint64_t number = 0;
  if (!take_number(size, number)) return false;
  if (number >= memo_.size()) return fail("a memo that is missing");
  if (stack_.size() >= max_values) return fail("too many values");
  stack_.push_back(memo_[number]);
  return true;
}

bool PickleReader::memoize() {
  Index index = 0;
  if (!pop(index)) return false;
  stack_.push_back(index);
  if (memo_.size() >= max_values) return fail("too many memos");
  memo_.push_back(index);
  return true;
}

bool PickleReader::global() {
  Index name = 0;
  Index module = 0;
  if (!pop(name) || !pop(module)) return false;
  for (const Name& known : white_list)
    if (value(module).kind == PickleKind::text && value(name).kind == PickleKind::text &&
        known.module == value(module).text && known.name == value(name).text)
      return push(known.kind);
  return fail("a name that no rendezvous state has");
}

bool PickleReader::tuple(int size) {
  std::vector<Index> items(static_cast<std::size_t>(size));
  for (int i = size - 1; i >= 0; --i)
    if (!pop(items[static_cast<std::size_t>(i)])) return false;
  if (!push_container(PickleKind::tuple)) return false;
  lists_.back() = std::move(items);
  return true;
}

bool PickleReader::new_object() {
  Index arguments = 0;
  Index type = 0;
  if (!pop(arguments) || !pop(type)) return false;
  if (value(arguments).kind != PickleKind::tuple || !items(value(arguments)).empty())
    return fail("an object made with arguments");
  if (value(type).kind == PickleKind::state_class) return push_container(PickleKind::state);
  if (value(type).kind == PickleKind::node_class) return push_container(PickleKind::node);
  return fail("an object of a wrong class");
}

bool PickleReader::reduce() {
  Index arguments = 0;
  Index callee = 0;
  if (!pop(arguments) || !pop(callee)) return false;
  if (value(arguments).kind != PickleKind::tuple) return fail("a call without arguments");
  const std::vector<Index>& list = items(value(arguments));
  const auto is = [&](std::size_t place, PickleKind kind) { return value(list[place]).kind == kind; };
  switch (value(callee).kind) {
    case PickleKind::delta_class:
      for (const Index part : list)
        if (value(part).kind != PickleKind::number || value(part).number != 0) return fail("a zone that is not UTC");
      return list.size() == 3 ? push(PickleKind::delta) : fail("a wrong timedelta");
    case PickleKind::zone_class:
      return list.size() == 1 && is(0, PickleKind::delta) ? push(PickleKind::zone) : fail("a wrong timezone");
    case PickleKind::time_class:
      return make_time(list);
    default:
      return fail("a call of what cannot be called");
  }
}

// Ten bytes: year, month, day, hour, minute, second, microsecond, big-endian.
bool PickleReader::make_time(const std::vector<Index>& arguments) {
  if (arguments.empty() || arguments.size() > 2) return fail("a wrong datetime");
  const PickleValue& state = value(arguments[0]);
  if (state.kind != PickleKind::bytes || state.text.size() != 10) return fail("a wrong datetime");
  const auto byte = [&](std::size_t place) {
    return static_cast<unsigned>(static_cast<unsigned char>(state.text[place]));
  };
  const year_month_day date(year(static_cast<int>(byte(0) << 8U | byte(1))), month(byte(2)), day(byte(3)));
  const unsigned micro = byte(7) << 16U | byte(8) << 8U | byte(9);
  if (!date.ok() || byte(4) > 23 || byte(5) > 59 || byte(6) > 59 || micro > 999'999) return fail("a wrong datetime");
  const auto since =
      sys_days(date).time_since_epoch() + hours(byte(4)) + minutes(byte(5)) + seconds(byte(6)) + microseconds(micro);
  if (arguments.size() == 2 && value(arguments[1]).kind != PickleKind::zone) return fail("a zone that is not UTC");
  return push(arguments.size() == 2 ? PickleKind::time : PickleKind::naive_time, microseconds(since).count());
}

bool PickleReader::build() {
  Index dict = 0;
  Index object = 0;
  if (!pop(dict) || !pop(object)) return false;
  if (value(dict).kind != PickleKind::dict) return fail("an object built from no dict");
  if (value(object).kind != PickleKind::state && value(object).kind != PickleKind::node)
    return fail("something built that is no object");
  values_[object].number = value(dict).number;
  stack_.push_back(object);
  return true;
}

bool PickleReader::add_items(PickleKind kind) {
  std::vector<Index> added;
  Index container = 0;
  if (!pop_to_mark(added) || !pop(container)) return false;
  if (value(container).kind != kind || (kind == PickleKind::dict && added.size() % 2 != 0))
    return fail("items that do not fit");
  auto& list = lists_[static_cast<std::size_t>(value(container).number)];
  list.insert(list.end(), added.begin(), added.end());
  stack_.push_back(container);
  return true;
}

bool PickleReader::set_item() {
  Index key = 0;
  Index item = 0;
  Index dict = 0;
  if (!pop(item) || !pop(key) || !pop(dict)) return false;
  if (value(dict).kind != PickleKind::dict) return fail("items that do not fit");
  auto& list = lists_[static_cast<std::size_t>(value(dict).number)];
  list.push_back(key);
  list.push_back(item);
  stack_.push_back(dict);
  return true;
}

}  // namespace launch
