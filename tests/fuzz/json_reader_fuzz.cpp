// Any bytes are absent, or JSON within the bounds of which every value can be asked for all that it might be.
#include "launch/core/base/json_reader.hpp"

#include <cstdlib>

namespace {

using namespace launch;

constexpr std::int64_t most = 1'000'000;

void require(bool holds) {
  if (!holds) std::abort();
}

void visit(const JsonValue& value, std::size_t depth) {
  require(value.present());
  if (const auto number = value.whole64(-most, most)) require(*number >= -most && *number <= most);
  if (const auto text = value.text(10)) require(text->size() <= 10 && !value.number());
  const auto list = value.list();
  const auto members = value.members();
  require(depth > 0 || (!list && !members));
  require(value.is_object() == members.has_value() && !(list && members));
  if (list)
    for (const JsonValue& item : *list) visit(item, depth - 1);
  if (members)
    for (const auto& [name, member] : *members) visit(value[name], depth - 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr JsonBounds bounds{.size = 1000, .depth = 5};
  const JsonValue value = read_json(text, bounds);
  require(value.present() == is_json(text, bounds));
  require(!value.present() || size <= bounds.size);
  if (value.present()) visit(value, bounds.depth);
  return 0;
}
