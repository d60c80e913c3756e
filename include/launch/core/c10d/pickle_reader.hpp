// Runs the opcodes of Python's pickle that a rendezvous state consists of over bytes from outside: the result is a
// table of values, or an error. Anything else (another opcode, another class, a call of anything except the three time
// types) is an error, and nothing is ever executed. Iterative; memory is a fixed multiple of the input.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace launch {

enum class PickleKind : std::uint8_t {
  none,
  truth,  // number: 0 or 1
  number,
  text,   // view into the input
  bytes,  // the same
  tuple,
  dict,  // items: key, value, key, value ...
  set,
  state,       // a _RendezvousState; items as of a dict
  node,        // a _NodeDesc; items as of a dict
  time,        // aware, UTC; number: microseconds since 1970
  naive_time,  // the same without a time zone
  delta,       // a timedelta of zero
  zone,        // UTC
  // names
  state_class,
  node_class,
  time_class,
  delta_class,
  zone_class,
  mark,
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t number = 0;  // of a container: where its items are
  std::string_view text;
};

class PickleReader {
 public:
  using Index = std::uint32_t;

  // The bytes must outlive the values.
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  Status read();

  PickleValue root() const { return value(stack_.back()); }
  const PickleValue& value(Index index) const { return values_[index]; }
  // REQUIRES: a container or an object.
  const std::vector<Index>& items(const PickleValue& value) const {
    return lists_[static_cast<std::size_t>(value.number)];
  }

 private:
  bool step();  // false: at the end, or on an error
  bool fail(std::string_view why);
  bool push_new(unsigned char opcode);
  bool push_number(int size);
  bool take(std::size_t count, std::string_view& part);
  bool take_number(int size, std::uint64_t& number);
  bool push(PickleKind kind, std::int64_t number = 0, std::string_view text = {});
  bool push_container(PickleKind kind);
  bool push_text(int length_size);
  bool pop(Index& index);
  bool pop_to_mark(std::vector<Index>& items);
  bool fetch(int size);
  bool memoize();
  bool global();
  bool tuple(int size);
  bool new_object();
  bool reduce();
  bool make_time(const std::vector<Index>& arguments);
  bool build();
  bool add_items(PickleKind kind);
  bool set_item();

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ended_ = false;
  std::string_view fault_;
  std::vector<PickleValue> values_;
  std::vector<std::vector<Index>> lists_;  // of containers
  std::vector<Index> stack_;
  std::vector<Index> memo_;
};

}  // namespace launch
