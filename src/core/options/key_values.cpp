#include "launch/core/options/key_values.hpp"

#include "launch/core/base/text.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

Result<std::pair<std::string, std::string>> parse_pair(std::string_view text) {
  const auto equals = text.find('=');
  const std::string_view key = trim(text.substr(0, equals));
  if (key.empty()) {
    return Error{ErrorCode::usage, "an entry has no key; write KEY=VALUE,KEY=VALUE without a comma at the end"};
  }
  const std::string_view value = equals == std::string_view::npos ? "" : trim(text.substr(equals + 1));
  if (value.empty()) {
    return Error{ErrorCode::usage, fmt::format("the key {} has no value; write {}=VALUE", shown(key), shown(key))};
  }
  return std::pair{std::string(key), std::string(value)};
}

}  // namespace

Result<KeyValues> parse_key_values(std::string_view text) {
  KeyValues result;
  text = trim(text);
  if (text.empty()) return result;
  while (true) {
    const auto comma = text.find(',');
    auto pair = parse_pair(text.substr(0, comma));
    if (!pair) return pair.error();
    result.insert_or_assign(std::move(pair->first), std::move(pair->second));
    if (comma == std::string_view::npos) return result;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace launch
