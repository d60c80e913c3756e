// One word of a list of hosts: "n1", "n[1-3,08]-ib", "me@n1:8", "n1:*", "[fd00::2]:4". The list of --hosts, a host file
// and --include are made of such words; those three use it. Names and users are checked, since they become arguments of
// ssh: nothing in them can be an option, a control character or the business of a shell. Pure; no name is looked up.
// An error is one sentence that names the word, says what is wrong and what would be right; usage.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

inline constexpr std::size_t most_listed_hosts = 65'536;
inline constexpr int most_host_workers = 65'536;

struct HostWord {
  std::string user;
  std::vector<std::string> names;  // at least one, at most 65,536; an IPv6 address has no brackets, as ssh wants it
  std::optional<int> workers;      // of HOST:N
  bool counted = false;            // HOST:N or HOST:*
};

// [USER@]NAMES[:N|:*]
Result<HostWord> parse_host_word(std::string_view word);

// "n[1-2]" and "n[1-2]:0,2": the names, and what follows the colon. A group of brackets that has a colon in it and
// begins the word is an address.
struct HostWordParts {
  std::string_view names;
  std::optional<std::string_view> tail;
};
HostWordParts host_word_parts(std::string_view word);

// Names without user and tail.
Result<std::vector<std::string>> parse_host_names(std::string_view text);

// An error if ssh must not get this as the name of a user. The sentence does not say where it stands.
Status check_host_user(std::string_view user);

// A number from 1 to `most` in decimal digits, without sign and blanks.
std::optional<int> parse_host_count(std::string_view text, int most);

}  // namespace launch
