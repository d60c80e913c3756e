// JSON from outside, as values: from workers, from other nodes and from anyone that writes to the store. Used in every
// folder that reads such a text; its bounds are checked before anything is built from it. It never throws, and no text
// makes it take more time or memory than a small multiple of its size. It does not decide what a missing value means:
// the caller gives a default with `value_or`, or refuses the whole text with Needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launch {

struct JsonBounds {
  std::size_t size = std::size_t{64} * 1024;  // of the text, in bytes
  std::size_t depth = 16;                     // of nested objects and lists
};

// A value within a document, which lives as long as any of its values. A value is absent if there is no document or no
// such member: then it has no kind and no members.
class JsonValue {
 public:
  static constexpr std::size_t any_length = std::string::npos;

  JsonValue() = default;

  bool present() const { return value_ != nullptr; }
  bool is_object() const;
  // A member; absent if there is none or this is not an object.
  JsonValue operator[](std::string_view name) const;

  // nullopt: it has another kind, or is out of bounds. A float is never a whole number.
  std::optional<std::string> text(std::size_t longest = any_length) const;
  std::optional<int> whole(int least, int greatest) const;
  std::optional<std::int64_t> whole64(std::int64_t least, std::int64_t greatest) const;
  std::optional<std::int64_t> count(std::int64_t most) const;  // 0 or more; a greater one counts as `most`
  std::optional<double> number() const;
  std::optional<bool> flag() const;
  std::optional<std::vector<JsonValue>> list() const;
  std::optional<std::vector<std::string>> texts() const;                          // a list of texts only
  std::optional<std::vector<std::pair<std::string, JsonValue>>> members() const;  // by name
  // For people: at most so many texts of a list, each in one line that is safe to show; other items are left out.
  std::vector<std::string> lines(std::size_t most, std::size_t longest) const;

 private:
  friend JsonValue read_json(std::string_view text, const JsonBounds& bounds);

  explicit JsonValue(std::shared_ptr<const void> value) : value_(std::move(value)) {}

  std::shared_ptr<const void> value_;  // an nlohmann::json, a type that only the .cpp knows
};

// Absent if the text is not JSON or is out of bounds.
JsonValue read_json(std::string_view text, const JsonBounds& bounds = {});

// Whether it is JSON within the bounds: for callers that pass a text on, and do not only read it.
bool is_json(std::string_view text, const JsonBounds& bounds = {});

// For a text in which each part that is asked for must be there: gives the parts, and says at the end whether all were.
class Needed {
 public:
  template <class T>
  T operator()(std::optional<T> part) {
    met_ = met_ && part.has_value();
    return part ? *std::move(part) : T{};
  }
  bool met() const { return met_; }

 private:
  bool met_ = true;
};

}  // namespace launch
