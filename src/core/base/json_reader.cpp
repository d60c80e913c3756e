#include "launch/core/base/json_reader.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Json = nlohmann::json;

const Json& json_of(const std::shared_ptr<const void>& value) {
  static const Json absent(Json::value_t::discarded);
  return value ? *static_cast<const Json*>(value.get()) : absent;
}

// Correct only for a text that is JSON; the parser refuses any other.
bool within(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.size) return false;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++at;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > bounds.depth) return false;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return true;
}

}  // namespace

JsonValue read_json(std::string_view text, const JsonBounds& bounds) {
  if (!within(text, bounds)) return {};
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return {};
  return JsonValue(std::make_shared<const Json>(std::move(document)));
}

bool is_json(std::string_view text, const JsonBounds& bounds) { return within(text, bounds) && Json::accept(text); }

bool JsonValue::is_object() const { return json_of(value_).is_object(); }

JsonValue JsonValue::operator[](std::string_view name) const {
  const Json& json = json_of(value_);
  if (!json.is_object()) return {};
  const auto found = json.find(name);
  return found == json.end() ? JsonValue() : JsonValue({value_, &*found});
}

std::optional<std::string> JsonValue::text(std::size_t longest) const {
  const Json& json = json_of(value_);
  if (!json.is_string() || json.get_ref<const std::string&>().size() > longest) return std::nullopt;
  return json.get_ref<const std::string&>();
}

std::optional<std::int64_t> JsonValue::whole64(std::int64_t least, std::int64_t greatest) const {
  const Json& json = json_of(value_);
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return std::nullopt;
  const auto value = json.get<std::int64_t>();
  return value < least || value > greatest ? std::nullopt : std::optional(value);
}

std::optional<int> JsonValue::whole(int least, int greatest) const {
  const auto value = whole64(least, greatest);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<std::int64_t> JsonValue::count(std::int64_t most) const {
  const Json& json = json_of(value_);
  if (!json.is_number_unsigned()) return std::nullopt;
  return static_cast<std::int64_t>(std::min(json.get<std::uint64_t>(), static_cast<std::uint64_t>(most)));
}

std::optional<double> JsonValue::number() const {
  const Json& json = json_of(value_);
  if (!json.is_number() || !std::isfinite(json.get<double>())) return std::nullopt;
  return json.get<double>();
}

std::optional<bool> JsonValue::flag() const {
  const Json& json = json_of(value_);
  return json.is_boolean() ? std::optional(json.get<bool>()) : std::nullopt;
}

std::optional<std::vector<JsonValue>> JsonValue::list() const {
  const Json& json = json_of(value_);
  if (!json.is_array()) return std::nullopt;
  std::vector<JsonValue> items;
  for (const Json& item : json) items.push_back(JsonValue({value_, &item}));
  return items;
}

std::vector<std::string> JsonValue::lines(std::size_t most, std::size_t longest) const {
  std::vector<std::string> shown;
  for (const JsonValue& item : list().value_or(std::vector<JsonValue>()))
    if (const auto line = item.text(); line && shown.size() < most) shown.push_back(without_controls(*line, longest));
  return shown;
}

std::optional<std::vector<std::string>> JsonValue::texts() const {
  const auto items = list();
  if (!items) return std::nullopt;
  Needed need;
  std::vector<std::string> texts;
  for (const JsonValue& item : *items) texts.push_back(need(item.text()));
  return need.met() ? std::optional(std::move(texts)) : std::nullopt;
}

std::optional<std::vector<std::pair<std::string, JsonValue>>> JsonValue::members() const {
  const Json& json = json_of(value_);
  if (!json.is_object()) return std::nullopt;
  std::vector<std::pair<std::string, JsonValue>> members;
  for (const auto& [name, member] : json.items()) members.emplace_back(name, JsonValue({value_, &member}));
  return members;
}

}  // namespace launch
