// Reads texts in the JSON between the head of `launch --hosts` and its hosts: what is not printable ASCII is
// {"b64": ...} there, since arguments, variables and paths may be any bytes. Each has its bound; nothing, if it is no
// text or breaks it. Used by core/hosts/host_messages, which writes them. Pure.
#pragma once

#include "launch/core/base/json_reader.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace launch::body_texts {

std::optional<std::string> read_text(const JsonValue& value, std::size_t longest);
std::optional<std::string> read_word(const JsonValue& value, std::size_t longest);
std::optional<std::vector<std::string>> read_words(const JsonValue& value, std::size_t most);
std::optional<std::string> read_line(const JsonValue& value, std::size_t longest);
std::optional<std::vector<std::string>> read_lines(const JsonValue& value, std::size_t longest);

}  // namespace launch::body_texts
