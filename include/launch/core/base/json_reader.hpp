// JSON from outside, as values: of workers, of other nodes and of whoever writes to the store. Used by every room that
// reads such a text; its bounds are checked before anything is built of it. It never throws, and no text makes it take
// more time or memory than a small multiple of its size. It keeps no opinion of what is missing: the caller says with
// `value_or` what holds then, or with Needed that the whole is bad.
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
  std::size_t size = std::size_t{64} * 1024;  // of the text
  std::size_t depth = 16;                     // of objects and lists in each other
};

// A value within a document, which lives as long as any of its values. Without a document, or if there is no such
// member, it is absent: then it is of no kind and has no members.
class JsonValue {
 public:
  static constexpr std::size_t any_length = std::string::npos;

  JsonValue() = default;

  bool present() const { return value_ != nullptr; }
  bool is_object() const;
  // A member; absent if there is none or this is no object.
  JsonValue operator[](std::string_view name) const;

  // nullopt: it is of another kind, or out of bounds. No float is a whole number.
  std::optional<std::string> text(std::size_t longest = any_length) const;
  std::optional<int> whole(int least, int greatest) const;
  std::optional<std::int64_t> whole64(std::int64_t least, std::int64_t greatest) const;
  std::optional<std::int64_t> count(std::int64_t most) const;  // from 0 on; a greater one is taken for `most`
  std::optional<double> number() const;
  std::optional<bool> flag() const;
  std::optional<std::vector<JsonValue>> list() const;
  std::optional<std::vector<std::string>> texts() const;                          // a list of nothing else
  std::optional<std::vector<std::pair<std::string, JsonValue>>> members() const;  // by name

 private:
  friend JsonValue read_json(std::string_view text, const JsonBounds& bounds);

  explicit JsonValue(std::shared_ptr<const void> value) : value_(std::move(value)) {}

  std::shared_ptr<const void> value_;  // an nlohmann::json, which only the source knows
};

// Absent if the text is no JSON or out of bounds.
JsonValue read_json(std::string_view text, const JsonBounds& bounds = {});

// Whether it is JSON within the bounds: for those who pass a text on, and not only read it.
bool is_json(std::string_view text, const JsonBounds& bounds = {});

// For a text of which each asked part must be there: gives the parts, and says at the end whether all were.
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
