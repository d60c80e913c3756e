#include "launch/core/hosts/host_line.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using LineWords = std::vector<std::string>;

constexpr int most_port = 65'535;
constexpr std::size_t most_queue_words = 4;  // name, slots, queue, processors

// Of Open MPI, PRRTE, MPICH and Intel MPI. What says how many is read; what limits or places the ranks of others is
// ignored, with a notice if the user may have wanted it.
constexpr std::array<std::string_view, 4> worker_keys{"slots", "count", "cpu", "cpus"};
constexpr std::array<std::string_view, 2> silent_keys{"max_slots", "max-slots"};
constexpr std::array<std::string_view, 8> noticed_keys{
    "binding", "ifhn", "ifname", "boards", "sockets", "sockets_per_board", "cores_per_socket", "cpu_set"};

template <std::size_t N>
bool has_key(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

LineWords line_words(std::string_view line) {
  LineWords words;
  for (line = trim(line); !line.empty(); line = trim(line)) {
    const auto size = std::min(line.find_first_of(" \t\r\f\v"), line.size());
    words.emplace_back(line.substr(0, size));
    line.remove_prefix(size);
  }
  return words;
}

// Open MPI reads "slots = 4" as "slots=4".
LineWords with_joined_settings(const LineWords& words) {
  LineWords joined;
  for (const std::string& word : words) {
    const bool value = joined.size() > 1 && joined.back().ends_with('=') && word.find('=') == std::string::npos;
    if (value || (joined.size() > 1 && word.starts_with('='))) {
      joined.back() += word;
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

std::string host_of(const HostLine& line) { return shown(line.word.names.front()); }

Status set_workers(HostLine& line, std::string_view number, HostCount how) {
  if (line.count != HostCount::none) return usage_error(host_of(line) + " has two numbers of workers; write one");
  line.word.workers = parse_host_count(number, most_host_workers);
  line.count = how;
  if (line.word.workers) return {};
  return usage_error(fmt::format("{} is not a number of workers for {}; it must be from 1 to {}", shown(number),
                                 host_of(line), most_host_workers));
}

Status set_user(HostLine& line, std::string_view user) {
  if (Status sound = check_host_user(user); !sound) return sound;
  if (!line.word.user.empty() && line.word.user != user)
    return usage_error(fmt::format("{} has two users, {} and {}; write one", host_of(line), line.word.user, user));
  line.word.user = user;
  return {};
}

Status set_port(HostLine& line, std::string_view number) {
  const auto port = parse_host_count(number, most_port);
  if (!port)
    return usage_error(
        fmt::format("{} is not a port of ssh; it must be a number from 1 to {}", shown(number), most_port));
  if (line.port && line.port != port)
    return usage_error(fmt::format("{} has two ports, {} and {}; write one", host_of(line), *line.port, *port));
  line.port = port;
  return {};
}

Status read_setting(HostLine& line, std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos)
    return usage_error(
        fmt::format("{} after {} is neither a number of workers nor a setting such as slots=8; write "
                    "one host a line",
                    shown(word), host_of(line)));
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  if (has_key(worker_keys, key)) return set_workers(line, value, HostCount::written);
  if (key == "user" || key == "username") return set_user(line, value);
  if (key == "port") return set_port(line, value);
  if (has_key(silent_keys, key)) return {};
  if (!has_key(noticed_keys, key))
    return usage_error(
        fmt::format("the setting {} is not known; launch reads slots=, count=, cpu=, user=, username= "
                    "and port=",
                    shown(word)));
  if (std::find(line.ignored.begin(), line.ignored.end(), key) == line.ignored.end()) line.ignored.emplace_back(key);
  return {};
}

// SGE's further words are the queue and its processors. A number there is the next host's, as in LSF's "n1 8 n2 8".
Status read_queue(HostLine& line, const LineWords& words) {
  const bool next = words.size() == most_queue_words && parse_host_count(words[3], most_host_workers).has_value();
  if (next || words.size() > most_queue_words)
    return usage_error(fmt::format("{} after {} is one word too many; write one host a line",
                                   shown(words[next ? 2 : 4]), host_of(line)));
  return set_workers(line, words[1], HostCount::queued);
}

Result<HostLine> read_away(const LineWords& words) {
  if (words.size() > 1)
    return usage_error(fmt::format("{} takes hosts away, so nothing may follow it", shown(words[0])));
  auto names = parse_host_names(std::string_view(words[0]).substr(1));
  if (!names) return usage_error(fmt::format("after ^, {}", names.error().message));
  HostLine line;
  line.away = true;
  line.word.names = std::move(*names);
  return line;
}

Result<HostLine> read_host(const LineWords& words) {
  if (words[0].starts_with('+'))
    return usage_error(
        fmt::format("{} counts the hosts of an allocation, as Open MPI does, which launch does not do; "
                    "write the host's name",
                    shown(words[0])));
  auto word = parse_host_word(words[0]);
  if (!word) return word.error();
  HostLine line;
  line.word = std::move(*word);
  if (line.word.counted) line.count = HostCount::written;
  if (words.size() > 1 && words[1].find_first_not_of("0123456789") == std::string::npos) {
    if (const Status done = read_queue(line, words); !done) return done.error();
    return line;
  }
  for (std::size_t i = 1; i < words.size(); ++i)
    if (const Status done = read_setting(line, words[i]); !done) return done.error();
  return line;
}

}  // namespace

Result<std::optional<HostLine>> parse_host_line(std::string_view text) {
  const LineWords typed = line_words(text.substr(0, text.find('#')));
  if (typed.empty()) return std::optional<HostLine>();
  const LineWords words = with_joined_settings(typed);
  auto line = words[0].starts_with('^') ? read_away(words) : read_host(words);
  if (!line) return line.error();
  line->deepspeed = typed.size() == 2 && typed[1].starts_with("slots=") && line->word.names.front() == typed[0];
  return std::optional<HostLine>(std::move(*line));
}

}  // namespace launch
