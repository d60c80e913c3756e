#include "launch/core/verdict/verdict.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/verdict/missing_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t most_nodes_named = 8;  // with their logs: all must fit on one screen
constexpr std::size_t most_left_named = 6;
constexpr std::size_t most_groups = 64;  // that are written or read as JSON
constexpr std::size_t most_places = 8;   // groups that are shown
constexpr int most_ranks = 1'000'000;
constexpr std::int64_t most_counted = 1'000'000'000;
constexpr std::size_t longest_ranks = 80;
constexpr std::size_t longest_line = 300;                               // of what comes from another node
constexpr std::size_t longest_account = std::size_t{16} * 1024 * 1024;  // room for most_ranks with gaps, and more

std::string as_line(std::string_view text) { return without_controls(text, longest_line); }

std::int64_t count_of(const JsonValue& value) { return value.count(most_counted).value_or(0); }

std::vector<int> ranks_of(const JsonValue& value) { return from_ranges(value.text().value_or("")); }

std::vector<RankGroup> read_groups(const JsonValue& list) {
  std::vector<RankGroup> groups;
  for (const JsonValue& one : list.list().value_or(std::vector<JsonValue>()))
    if (const auto what = one["what"].text(); what && groups.size() < most_groups)
      groups.push_back({as_line(*what), ranks_of(one["ranks"])});
  return groups;
}

Ordered write_groups(const std::vector<RankGroup>& groups) {
  Ordered list = Ordered::array();
  for (std::size_t i = 0; i < groups.size() && i < most_groups; ++i)
    list.push_back({{"what", groups[i].what}, {"ranks", as_ranges(groups[i].ranks)}});
  return list;
}

std::string in_one_line(const Ordered& value) { return value.dump(-1, ' ', true, Ordered::error_handler_t::replace); }

void merge_numbers(std::vector<int>& all, const std::vector<int>& others) {
  std::vector<int> merged;
  std::set_union(all.begin(), all.end(), others.begin(), others.end(), std::back_inserter(merged));
  all = std::move(merged);
}

// Each rank is under one text; the same text is there once.
void merge_groups(std::vector<RankGroup>& all, const std::vector<RankGroup>& others) {
  for (const RankGroup& other : others) {
    auto same = std::find_if(all.begin(), all.end(), [&](const RankGroup& one) { return one.what == other.what; });
    if (same == all.end()) {
      all.push_back(other);
      continue;
    }
    merge_numbers(same->ranks, other.ranks);
  }
}

// Returns how many of `others` had no room.
std::int64_t merge_lines(std::vector<std::string>& all, const std::vector<std::string>& others, std::size_t most) {
  const std::size_t room = all.size() < most ? most - all.size() : 0;
  const std::size_t taken = std::min(room, others.size());
  all.insert(all.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(taken));
  return static_cast<std::int64_t>(others.size() - taken);
}

// In whole seconds, so that workers that ended together are one group.
std::string lead_of(const WorkerEnd& worker, Time failed_at) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(failed_at - worker.ended);
  return seconds.count() < 1 ? "less than 1 s" : to_text(seconds);
}

}  // namespace

Account sum_up(NodeRank node, const std::vector<WorkerEnd>& workers, Time failed_at) {
  Account account;
  account.nodes = {node.value};
  std::map<std::string, std::vector<int>> ranks_by_end;
  for (const WorkerEnd& worker : workers) {
    const bool killed = worker.stopped_by_us && worker.status.value == SIGKILL;
    account.stopped += worker.stopped_by_us ? 1 : 0;
    account.killed += killed ? 1 : 0;
    std::string how = to_text(worker.status);
    if (worker.stopped_by_us) how += stopped_by_launch;
    if (worker.early) how += fmt::format(", {}{}", lead_of(worker, failed_at), before_the_failure);
    ranks_by_end[how].push_back(worker.rank.value);
  }
  for (auto& [how, ranks] : ranks_by_end) account.ends.push_back({how, std::move(ranks)});
  return account;
}

std::string on_node(NodeRank node, const std::string& host, const std::string& what) {
  return fmt::format("node {} (host {}): {}", node.value, host, what);
}

void merge(Account& all, const Account& other) {
  merge_numbers(all.nodes, other.nodes);
  merge_groups(all.ends, other.ends);
  merge_groups(all.places, other.places);
  merge_groups(all.states, other.states);
  merge_numbers(all.waited, other.waited);
  all.stopped += other.stopped;
  all.killed += other.killed;
  all.more_logs += other.more_logs + merge_lines(all.logs, other.logs, most_nodes_named);
  all.more_left += other.more_left + merge_lines(all.left, other.left, most_left_named);
}

std::string to_json(const Account& account) {
  return in_one_line({{"nodes", as_ranges(account.nodes)},
                      {"ends", write_groups(account.ends)},
                      {"places", write_groups(account.places)},
                      {"states", write_groups(account.states)},
                      {"waited", as_ranges(account.waited)},
                      {"stopped", account.stopped},
                      {"killed", account.killed},
                      {"logs", account.logs},
                      {"more_logs", account.more_logs},
                      {"left", account.left},
                      {"more_left", account.more_left}});
}

Result<Account> parse_account(std::string_view json) {
  const JsonValue object = read_json(json, {.size = longest_account});
  if (!object.is_object()) return Error{ErrorCode::protocol, "what a node reports of its end is not a report"};
  Account account;
  account.nodes = ranks_of(object["nodes"]);
  account.ends = read_groups(object["ends"]);
  account.places = read_groups(object["places"]);
  account.states = read_groups(object["states"]);
  account.waited = ranks_of(object["waited"]);
  account.stopped = count_of(object["stopped"]);
  account.killed = count_of(object["killed"]);
  account.logs = object["logs"].lines(most_nodes_named, longest_line);
  account.more_logs = count_of(object["more_logs"]);
  account.left = object["left"].lines(most_left_named, longest_line);
  account.more_left = count_of(object["more_left"]);
  return account;
}

std::string as_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

std::vector<int> from_ranges(std::string_view text) {
  std::set<int> numbers;
  int budget = most_ranks;  // however often a number is repeated
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-', 1);
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0) continue;
    for (int number = *first; number <= *last && number < most_ranks && budget-- > 0; ++number) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

namespace {

// The largest group first, or the smallest.
std::vector<RankGroup> sorted(std::vector<RankGroup> groups, bool largest_first) {
  std::stable_sort(groups.begin(), groups.end(), [&](const RankGroup& a, const RankGroup& b) {
    if (a.ranks.size() == b.ranks.size()) return a.ranks < b.ranks;
    return (a.ranks.size() > b.ranks.size()) == largest_first;
  });
  return groups;
}

// A list of ranks may have thousands of gaps.
std::string cut(std::string text) {
  if (text.size() <= longest_ranks) return text;
  text.resize(text.rfind(',', longest_ranks));
  return text + ", ...";
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", cut(as_ranges(ranks)));
}

// A label stands in front of the first line of its part.
class Screen {
 public:
  explicit Screen(std::string title) : text_(std::move(title)) {}

  void say(std::string_view label, std::string_view line) {
    text_ += fmt::format("\n  {:<14} {}", label == label_ ? "" : label, line);
    label_ = label;
  }
  void say_groups(std::string_view label, const std::vector<RankGroup>& groups) {
    for (std::size_t i = 0; i < groups.size() && i < most_places; ++i) {
      const auto& [what, ranks] = groups[i];
      say(label, fmt::format("{}: {}", ranks_in_words(ranks), what));
    }
    if (groups.size() > most_places) say(label, fmt::format("and {} more groups", groups.size() - most_places));
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  std::string_view label_;
};

// Where a path is valid. A log that was not kept has a text in its place.
std::string on_host(const Failure& failure, const std::string& path) {
  return failure.host.empty() || path.starts_with("not kept") ? path : fmt::format("host {}: {}", failure.host, path);
}

std::string title_of(const MissingRanks& missing, GlobalRank waited) {
  const bool one = missing.ranks.size() == 1;
  if (missing.gone)
    return fmt::format(": {} {} ended; rank {} lost its connection", ranks_in_words(missing.ranks),
                       one ? "has" : "have", waited.value);
  return fmt::format(": {} {} missing; rank {} timed out waiting", ranks_in_words(missing.ranks), one ? "is" : "are",
                     waited.value);
}

// Who lost contact with the store is only the one that saw it.
std::string_view label_of_first(const Failure& first, const std::optional<MissingRanks>& missing) {
  if (!missing) return first.kind == Failure::Kind::store ? "reported by" : "root cause";
  return missing->gone ? "lost its peer" : "timed out";
}

void say_failure(const Verdict& verdict, const std::optional<MissingRanks>& missing, Screen& screen) {
  const Failure& first = verdict.first;
  if (missing && !missing->ranks.empty()) {
    screen.say_groups(missing->gone ? "ended" : "missing", missing->doings);
  } else if (missing && verdict.account.places.empty()) {
    screen.say_groups("may be missing", missing->doings);
  }
  screen.say(label_of_first(first, missing), describe(first));
  if (!first.time.empty()) screen.say("time", first.time);
  for (std::size_t i = 0; i < first.causes.size(); ++i)
    screen.say("error", (i == 0 ? "" : "which led to ") + first.causes[i]);
  if (!first.detail.empty()) screen.say("error", (first.causes.empty() ? "" : "which led to ") + first.detail);
  for (const std::string& member : first.members) screen.say("in the group", member);
  for (const std::string& frame : first.frames) screen.say("traceback", frame);
  for (const std::string& line : first.last_lines) screen.say("stderr", line);
  if (!first.note.empty()) screen.say("note", first.note);
  if (!first.error_file.empty()) screen.say("error file", on_host(first, first.error_file));
  if (!first.log_file.empty()) screen.say("log", on_host(first, first.log_file));
  if (first.kind == Failure::Kind::worker && first.detail.empty() && first.last_lines.empty() && first.log_file.empty())
    screen.say("output",
               fmt::format("not kept (see --tee, --redirects): it went to the console of host {}", first.host));
  if (!first.why_final.empty()) screen.say("not restarted", first.why_final);
  screen.say_groups("other workers", sorted(verdict.account.ends, true));
}

void say_logs(const Account& account, Screen& screen) {
  for (const std::string& log : account.logs) screen.say("logs", log);
  if (account.more_logs > 0) screen.say("logs", fmt::format("and of {}", counted(account.more_logs, "more node")));
}

// What launch did, and whether a process is left.
void say_deeds(const Verdict& verdict, Screen& screen) {
  const Account& account = verdict.account;
  std::string deeds = account.stopped == 0 ? "" : fmt::format("stopped {}", counted(account.stopped, "worker"));
  if (account.killed > 0) deeds += fmt::format(", {} of them by SIGKILL", account.killed);
  if (verdict.restarts > 0)
    deeds +=
        fmt::format("{}restarted all workers {} before", deeds.empty() ? "" : "; ", counted(verdict.restarts, "time"));
  for (const std::string& process : account.left) screen.say("left behind", "on " + process);
  if (account.more_left > 0)
    screen.say("left behind", fmt::format("and on {}", counted(account.more_left, "more node")));
  if (account.left.empty()) deeds += fmt::format("{}none left running", deeds.empty() ? "" : "; ");
  if (!deeds.empty()) screen.say("cleanup", deeds);
}

// Nodes that gave no account, except the one whose loss is the cause.
std::vector<int> silent_nodes(const Verdict& verdict) {
  std::set<int> told(verdict.account.nodes.begin(), verdict.account.nodes.end());
  if (verdict.first.kind == Failure::Kind::lost) told.insert(verdict.first.node_rank.value);
  std::vector<int> silent;
  for (int node = 0; node < verdict.nnodes; ++node)
    if (!told.contains(node)) silent.push_back(node);
  return silent;
}

// A program that could not be started, before anything ran: there is nothing more to tell.
bool began_nothing(const Verdict& verdict) {
  const Account& account = verdict.account;
  return verdict.first.kind == Failure::Kind::start && verdict.restarts == 0 && account.stopped == 0 &&
         account.ends.empty() && account.left.empty();
}

}  // namespace

std::string render_verdict(const Verdict& verdict) {
  // Whoever has stopped the job knows why: a line, and another one about what is left.
  const bool stopped = verdict.first.kind == Failure::Kind::signal;
  const bool idle = began_nothing(verdict);
  const bool told = stopped || idle;
  std::string title = fmt::format("{} {} (run id {})", verdict.program, stopped ? "STOPPED" : "FAILED", verdict.run_id);
  if (told) title += fmt::format(": {}; exit code {}", describe(verdict.first), verdict.first.exit_code);
  const auto missing = missing_ranks(verdict);
  if (missing && !missing->ranks.empty()) title += title_of(*missing, verdict.first.rank);
  Screen screen(std::move(title));
  if (!told) say_failure(verdict, missing, screen);
  screen.say_groups("at failure", sorted(verdict.account.places, false));
  if (const auto silent = silent_nodes(verdict); !silent.empty())
    screen.say("no report", fmt::format("from {} {}", silent.size() == 1 ? "node" : "nodes", cut(as_ranges(silent))));
  say_logs(verdict.account, screen);
  if (!idle) say_deeds(verdict, screen);
  if (!told) screen.say("exit code", std::to_string(verdict.first.exit_code));
  return std::move(screen).text();
}

std::string verdict_json(const Verdict& verdict) {
  const Account& account = verdict.account;
  const MissingRanks missing = missing_ranks(verdict).value_or(MissingRanks());
  return in_one_line({{"program", verdict.program},
                      {"run_id", verdict.run_id},
                      {"exit_code", verdict.first.exit_code},
                      {"nnodes", verdict.nnodes},
                      {"restarts", verdict.restarts},
                      {"root_cause", Ordered::parse(to_json(verdict.first))},
                      {"missing", write_groups(missing.doings)},
                      {"followers", write_groups(sorted(account.ends, true))},
                      {"at_the_time", write_groups(sorted(account.places, false))},
                      {"no_account", as_ranges(silent_nodes(verdict))},
                      {"logs", account.logs},
                      {"more_logs", account.more_logs},
                      {"stopped", account.stopped},
                      {"killed", account.killed},
                      {"left", account.left},
                      {"more_left", account.more_left}});
}

}  // namespace launch
