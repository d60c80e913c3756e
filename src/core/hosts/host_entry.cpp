#include "launch/core/hosts/host_entry.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_word.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view separators = ", \t\r\n";

// The length of the word that the text begins with; a separator inside brackets belongs to the word.
std::size_t word_size(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!inside && separators.find(text[i]) != std::string_view::npos) return i;
    inside = text[i] == '[' || (inside && text[i] != ']');
  }
  return text.size();
}

// An empty name is often a variable that is not set.
Error missing_name(const Words& words) {
  if (words.empty()) return usage_error("a name is missing in front of the first comma; name a host or remove it");
  return usage_error(fmt::format("a name is missing after the comma that follows {}; name a host or remove the comma",
                                 shown(words.back())));
}

Result<Words> split_words(std::string_view text) {
  Words words;
  bool after_comma = false;
  for (std::string_view rest = trim(text); !rest.empty();) {
    const std::size_t size = word_size(rest);
    if (size > 0) {
      words.push_back(rest.substr(0, size));
      after_comma = false;
    } else if (rest.front() == ',') {
      if (after_comma || words.empty()) return missing_name(words);
      after_comma = true;
    }
    rest.remove_prefix(std::max<std::size_t>(size, 1));
  }
  if (after_comma) return missing_name(words);
  return words;
}

// Where "+N" begins, which may be the whole word.
std::size_t spares_tail(std::string_view word) {
  const auto plus = word.rfind('+');
  if (plus == std::string_view::npos || plus + 1 == word.size()) return std::string_view::npos;
  const bool number = word.find_first_not_of("0123456789", plus + 1) == std::string_view::npos;
  return number ? plus : std::string_view::npos;
}

// The hosts named so far. Those that are taken away keep their place until the end, so that a long list takes no more
// time than its length.
class NamedHosts {
 public:
  Status add(std::string_view word, bool spare) {
    auto read = parse_host_word(word);
    if (!read) return read.error();
    for (std::string& name : read->names) {
      if (places_.contains(name)) return usage_error(fmt::format("{} is named twice", shown(name)));
      if (entries_.size() == most_listed_hosts)
        return usage_error(fmt::format("more than {} hosts are named", most_listed_hosts));
      places_.emplace(name, entries_.size());
      entries_.push_back({.user = read->user,
                          .name = std::move(name),
                          .port = std::nullopt,
                          .workers = read->workers,
                          .devices = {},
                          .spare = spare});
    }
    return {};
  }

  Status take_away(std::string_view word) {
    const auto names = parse_host_names(word);
    if (!names) return usage_error(fmt::format("after ^, {}", names.error().message));
    for (const std::string& name : *names) {
      const auto place = places_.find(name);
      if (place == places_.end())
        return usage_error(fmt::format("^{} takes away {}, which is not named before it", shown(word), shown(name)));
      entries_[place->second].name.clear();
      places_.erase(place);
    }
    return {};
  }

  std::vector<HostEntry> left() && {
    std::erase_if(entries_, [](const HostEntry& entry) { return entry.name.empty(); });
    return std::move(entries_);
  }

 private:
  std::vector<HostEntry> entries_;  // without a name: taken away
  std::unordered_map<std::string, std::size_t> places_;
};

Result<std::vector<HostEntry>> hosts_of_words(const Words& words) {
  NamedHosts named;
  for (std::string_view word : words) {
    if (spares_tail(word) != std::string_view::npos)
      return usage_error(
          fmt::format("{} has a number of spares, which may stand at the end of the list only, as in "
                      "n1,n2,n3+1",
                      shown(word)));
    const bool away = word.starts_with('^');
    const bool spare = word.starts_with('+');
    if (away || spare) word.remove_prefix(1);
    if (const Status done = away ? named.take_away(word) : named.add(word, spare); !done) return done.error();
  }
  return std::move(named).left();
}

Status mark_spares(std::vector<HostEntry>& hosts, std::string_view number) {
  const auto count = parse_host_count(number, static_cast<int>(most_listed_hosts));
  if (!count || static_cast<std::size_t>(*count) >= hosts.size())
    return usage_error(
        fmt::format("+{} is not a number of spares for {}; at least 1 must be a spare and at least 1 "
                    "must not",
                    shown(number), counted(static_cast<std::int64_t>(hosts.size()), "host")));
  for (auto host = hosts.end() - *count; host != hosts.end(); ++host) host->spare = true;
  return {};
}

}  // namespace

Result<std::vector<HostEntry>> parse_hosts(std::string_view text) {
  auto words = split_words(text);
  if (!words) return words.error();
  std::string_view spares;
  if (const auto tail = words->empty() ? std::string_view::npos : spares_tail(words->back());
      tail != std::string_view::npos) {
    spares = words->back().substr(tail + 1);
    words->back() = words->back().substr(0, tail);
    if (tail == 0) words->pop_back();
  }
  if (words->empty()) return usage_error("no host is named; name them as in n1,n2 or n[1-8]");
  auto hosts = hosts_of_words(*words);
  if (!hosts) return hosts.error();
  if (hosts->empty()) return usage_error("no host is left, since ^ takes away all that are named");
  if (!spares.empty())
    if (const Status done = mark_spares(*hosts, spares); !done) return done.error();
  if (std::all_of(hosts->begin(), hosts->end(), [](const HostEntry& host) { return host.spare; }))
    return usage_error("all hosts are spares; at least one must stand without +");
  return hosts;
}

}  // namespace launch
