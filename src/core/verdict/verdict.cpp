#include "launch/core/verdict/verdict.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/verdict/missing_ranks.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t most_groups_shown = 8;
constexpr std::size_t most_nodes_shown = 4;  // of a group
constexpr std::size_t longest_ranks = 80;
constexpr std::size_t longest_verdict = std::size_t{1} << 20;

// The largest group first, or the smallest.
std::vector<RankGroup> sorted(std::vector<RankGroup> groups, bool largest_first) {
  std::stable_sort(groups.begin(), groups.end(), [&](const RankGroup& a, const RankGroup& b) {
    if (a.ranks.size() == b.ranks.size()) return a.ranks < b.ranks;
    return (a.ranks.size() > b.ranks.size()) == largest_first;
  });
  return groups;
}

// A list of ranks may have thousands of gaps.
std::string ranks_in_words(const std::vector<int>& ranks) { return ranges_in_words("rank", ranks, longest_ranks); }

std::string nodes_in_words(const std::vector<int>& nodes) { return ranges_in_words("node", nodes, longest_ranks); }

// " on node 1 (host n1)"; nothing if the node of one of the ranks is not known.
std::string hosts_in_words(const std::vector<RanksOnNode>& hosts, const std::vector<int>& ranks) {
  std::set<int> unknown(ranks.begin(), ranks.end());
  std::vector<int> nodes;
  std::vector<std::string> names;
  for (const RanksOnNode& one : hosts) {
    const auto runs_here = [&](int rank) { return std::binary_search(one.ranks.begin(), one.ranks.end(), rank); };
    if (std::none_of(ranks.begin(), ranks.end(), runs_here)) continue;
    nodes.push_back(one.node.value);
    names.push_back(one.host);
    for (const int rank : one.ranks) unknown.erase(rank);
  }
  if (!unknown.empty() || nodes.empty()) return "";
  if (nodes.size() > most_nodes_shown) return fmt::format(" on {} nodes", nodes.size());
  const std::string_view s = nodes.size() == 1 ? "" : "s";
  return fmt::format(" on node{} {} (host{} {})", s, fmt::join(nodes, ", "), s, fmt::join(names, ", "));
}

// A label stands in front of the first line of its part.
class Screen {
 public:
  explicit Screen(std::string title) : text_(std::move(title)) {}

  void say(std::string_view label, std::string_view line) {
    text_ += fmt::format("\n  {:<14} {}", label == label_ ? "" : label, line);
    label_ = label;
  }
  void say_groups(std::string_view label, const std::vector<RankGroup>& groups,
                  const std::vector<RanksOnNode>& hosts = {}) {
    for (std::size_t i = 0; i < groups.size() && i < most_groups_shown; ++i) {
      const auto& [what, ranks] = groups[i];
      say(label, fmt::format("{}{}: {}", ranks_in_words(ranks), hosts_in_words(hosts, ranks), what));
    }
    if (groups.size() > most_groups_shown)
      say(label, fmt::format("and {} more groups", groups.size() - most_groups_shown));
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

std::string title_of(const MissingRanks& missing, GlobalRank first) {
  const bool one = missing.ranks.size() == 1;
  if (missing.gone)
    return fmt::format(": {} {} ended; rank {} lost its connection", ranks_in_words(missing.ranks),
                       one ? "has" : "have", first.value);
  return fmt::format(": {} did not come; rank {} timed out waiting", ranks_in_words(missing.ranks),
                     missing.waiter.value);
}

// Who lost contact with the store is only the one that saw it.
std::string_view label_of_first(const Failure& first, const std::optional<MissingRanks>& missing) {
  if (!missing) return first.kind == Failure::Kind::store ? "reported by" : "root cause";
  return missing->gone || missing->waiter != first.rank ? "lost its peer" : "timed out";
}

void say_failure(const Verdict& verdict, const std::optional<MissingRanks>& missing, Screen& screen) {
  const Failure& first = verdict.first;
  const auto hosts = verdict.nnodes > 1 ? verdict.account.hosts : std::vector<RanksOnNode>();
  if (missing && !missing->ranks.empty()) {
    screen.say_groups(missing->gone ? "ended" : "did not come", missing->doings, hosts);
  } else if (missing && verdict.account.places.empty()) {
    screen.say_groups("may be missing", missing->doings, hosts);
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
               fmt::format("not kept: it went to the console of launch on host {}; --tee=3 --log-dir=FOLDER keeps it",
                           first.host));
  if (!first.why_final.empty()) screen.say("not restarted", first.why_final);
  screen.say_groups("other workers", sorted(verdict.account.ends, true));
}

void say_logs(const Account& account, Screen& screen) {
  for (const std::string& log : account.logs) screen.say("logs", log);
  if (account.more_logs > 0) screen.say("logs", fmt::format("and of {}", counted(account.more_logs, "more node")));
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

// Nodes of which nobody knows what runs there.
std::vector<int> unknown_nodes(const Verdict& verdict) {
  std::vector<int> nodes = silent_nodes(verdict);
  const NodeRank lost = verdict.first.node_rank;
  const std::vector<int>& told = verdict.account.nodes;
  if (verdict.first.kind == Failure::Kind::lost && lost.known() &&
      std::find(told.begin(), told.end(), lost.value) == told.end())
    nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), lost.value), lost.value);
  return nodes;
}

// What launch did, and whether a process is left.
void say_deeds(const Verdict& verdict, Screen& screen) {
  const Account& account = verdict.account;
  std::string deeds = account.stopped == 0 ? "" : fmt::format("stopped {}", counted(account.stopped, "worker"));
  if (account.killed > 0)
    deeds +=
        account.killed == account.stopped ? ", by SIGKILL" : fmt::format(", {} of them by SIGKILL", account.killed);
  if (verdict.restarts > 0)
    deeds +=
        fmt::format("{}restarted all workers {} before", deeds.empty() ? "" : "; ", counted(verdict.restarts, "time"));
  for (const std::string& process : account.left) screen.say("left behind", "on " + process);
  if (account.more_left > 0)
    screen.say("left behind", fmt::format("and on {}", counted(account.more_left, "more node")));
  if (account.left.empty()) deeds += fmt::format("{}none left running", deeds.empty() ? "" : "; ");
  if (const auto unknown = unknown_nodes(verdict); !unknown.empty() && account.left.empty())
    deeds += fmt::format(", except perhaps on {}", nodes_in_words(unknown));
  if (!deeds.empty()) screen.say("cleanup", deeds);
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
    screen.say("no report", "from " + nodes_in_words(silent));
  say_logs(verdict.account, screen);
  if (!idle) say_deeds(verdict, screen);
  if (!verdict.time_left.empty()) screen.say("job's time left", verdict.time_left);
  if (!told) screen.say("exit code", std::to_string(verdict.first.exit_code));
  return std::move(screen).text();
}

bool shows_whole(const Verdict& verdict, NodeRank own) {
  const std::vector<int>& told = verdict.account.nodes;
  const bool of_all = std::find(told.begin(), told.end(), own.value) != told.end();
  return !of_all || told.front() == own.value || verdict.first.node_rank == own;
}

std::string render_briefly(const Verdict& verdict) {
  return fmt::format("{}; node {} has the whole report", describe(verdict.first),
                     verdict.account.nodes.empty() ? 0 : verdict.account.nodes.front());
}

std::string verdict_json(const Verdict& verdict) {
  const Account& account = verdict.account;
  const MissingRanks missing = missing_ranks(verdict).value_or(MissingRanks());
  const auto as_json = [](const auto& part) { return Ordered::parse(to_json(part)); };
  return Ordered({{"program", verdict.program},
                  {"run_id", verdict.run_id},
                  {"exit_code", verdict.first.exit_code},
                  {"nnodes", verdict.nnodes},
                  {"restarts", verdict.restarts},
                  {"time_left", verdict.time_left},
                  {"root_cause", as_json(verdict.first)},
                  {"missing", as_json(missing.doings)},
                  {"hosts", as_json(account)["hosts"]},
                  {"followers", as_json(sorted(account.ends, true))},
                  {"at_the_time", as_json(sorted(account.places, false))},
                  {"no_account", as_ranges(silent_nodes(verdict))},
                  {"logs", account.logs},
                  {"more_logs", account.more_logs},
                  {"stopped", account.stopped},
                  {"killed", account.killed},
                  {"left", account.left},
                  {"more_left", account.more_left}})
      .dump(-1, ' ', true, Ordered::error_handler_t::replace);
}

bool was_told_to_stop(std::string_view json) {
  const JsonValue verdict = read_json(json, {.size = longest_verdict});
  return verdict["root_cause"]["kind"].text() == "signal";
}

}  // namespace launch
