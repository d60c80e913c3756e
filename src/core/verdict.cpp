#include "launch/core/verdict.hpp"

#include "launch/core/text.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr std::size_t most_nodes_named = 8;  // with their logs: one screen is all there is
constexpr std::size_t most_places = 8;
constexpr std::size_t longest_ranks = 80;
constexpr std::size_t longest_line = 300;  // of what comes from another node

std::string as_line(const Ordered& value) {
  return without_controls(value.get_ref<const std::string&>(), longest_line);
}

const Ordered& member(const Ordered& object, const char* name) {
  static const Ordered none;
  const auto it = object.find(name);
  return it == object.end() ? none : *it;
}

int small_number(const Ordered& value) {
  if (!value.is_number_unsigned()) return 0;
  return static_cast<int>(std::min<std::uint64_t>(value.get<std::uint64_t>(), INT32_MAX));
}

std::vector<RankGroup> read_groups(const Ordered& list) {
  std::vector<RankGroup> groups;
  if (!list.is_array()) return groups;
  for (const Ordered& one : list) {
    if (!one.is_object() || !member(one, "what").is_string() || !member(one, "ranks").is_array()) continue;
    RankGroup group{as_line(one["what"]), {}};
    for (const Ordered& rank : one["ranks"]) group.ranks.push_back(small_number(rank));
    groups.push_back(std::move(group));
  }
  return groups;
}

Ordered write_groups(const std::vector<RankGroup>& groups) {
  Ordered list = Ordered::array();
  for (const RankGroup& group : groups) list.push_back({{"what", group.what}, {"ranks", group.ranks}});
  return list;
}

Ordered as_json(const NodeEnd& node) {
  return {{"node_rank", node.node_rank},
          {"host", node.host},
          {"ends", write_groups(node.ends)},
          {"places", write_groups(node.places)},
          {"stopped", node.stopped},
          {"killed", node.killed},
          {"logs", node.logs},
          {"left", node.left}};
}

std::string in_one_line(const Ordered& value) { return value.dump(-1, ' ', true, Ordered::error_handler_t::replace); }

}  // namespace

NodeEnd sum_up(const std::vector<WorkerEnd>& workers) {
  NodeEnd node;
  std::map<std::string, std::vector<int>> ranks_by_end;
  for (const WorkerEnd& worker : workers) {
    const bool killed = worker.stopped_by_us && worker.status.value == SIGKILL;
    node.stopped += worker.stopped_by_us ? 1 : 0;
    node.killed += killed ? 1 : 0;
    const char* const by_whom = worker.stopped_by_us ? ", after launch stopped it" : "";
    ranks_by_end[to_text(worker.status) + by_whom].push_back(worker.rank);
  }
  for (auto& [how, ranks] : ranks_by_end) node.ends.push_back({how, std::move(ranks)});
  return node;
}

std::string to_json(const std::vector<NodeEnd>& nodes) {
  Ordered list = Ordered::array();
  for (const NodeEnd& node : nodes) list.push_back(as_json(node));
  return in_one_line(list);
}

Result<std::vector<NodeEnd>> parse_node_ends(std::string_view json) {
  const Ordered list = Ordered::parse(json, nullptr, false);
  if (!list.is_array()) return Error{ErrorCode::protocol, "what a node tells of its end is no list"};
  std::vector<NodeEnd> nodes;
  for (const Ordered& one : list) {
    if (!one.is_object()) return Error{ErrorCode::protocol, "what a node tells of its end is no object"};
    NodeEnd node;
    node.node_rank = small_number(member(one, "node_rank"));
    if (member(one, "host").is_string()) node.host = as_line(one["host"]);
    node.ends = read_groups(member(one, "ends"));
    node.places = read_groups(member(one, "places"));
    node.stopped = small_number(member(one, "stopped"));
    node.killed = small_number(member(one, "killed"));
    if (member(one, "logs").is_string()) node.logs = as_line(one["logs"]);
    if (member(one, "left").is_array())
      for (const Ordered& process : one["left"])
        if (process.is_string()) node.left.push_back(as_line(process));
    nodes.push_back(std::move(node));
  }
  return nodes;
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

namespace {

std::string counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// The same of all nodes in one place; the largest group first, or the smallest.
std::vector<RankGroup> merged(const std::vector<NodeEnd>& nodes, std::vector<RankGroup> NodeEnd::*groups,
                              bool largest_first) {
  std::map<std::string, std::set<int>> ranks_by_what;
  for (const NodeEnd& node : nodes)
    for (const RankGroup& group : node.*groups)
      ranks_by_what[group.what].insert(group.ranks.begin(), group.ranks.end());
  std::vector<RankGroup> all;
  for (const auto& [what, ranks] : ranks_by_what) all.push_back({what, {ranks.begin(), ranks.end()}});
  std::stable_sort(all.begin(), all.end(), [&](const RankGroup& a, const RankGroup& b) {
    return largest_first ? a.ranks.size() > b.ranks.size() : a.ranks.size() < b.ranks.size();
  });
  return all;
}

// A list of ranks may have thousands of gaps.
std::string cut(std::string text) {
  if (text.size() <= longest_ranks) return text;
  text.resize(text.rfind(',', longest_ranks));
  return text + ", ...";
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
      say(label, fmt::format("{} {}: {}", ranks.size() == 1 ? "rank" : "ranks", cut(as_ranges(ranks)), what));
    }
    if (groups.size() > most_places) say(label, fmt::format("and {} kinds more", groups.size() - most_places));
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  std::string_view label_;
};

void say_cause(const Verdict& verdict, Screen& screen) {
  const Failure& first = verdict.first;
  screen.say("root cause", describe(first));
  if (!first.time.empty()) screen.say("time", first.time);
  if (!first.detail.empty()) screen.say("error", first.detail);
  for (const std::string& frame : first.frames) screen.say("traceback", frame);
  if (!first.error_file.empty()) screen.say("error file", first.error_file);
  if (!first.log_file.empty()) screen.say("log", first.log_file);
  if (first.kind == Failure::Kind::worker && first.detail.empty() && first.log_file.empty())
    screen.say("log", fmt::format("the worker's own output, on the console of host {}", first.host));
  if (!first.why_final.empty()) screen.say("not restarted", first.why_final);
}

void say_logs(const Verdict& verdict, Screen& screen) {
  std::size_t named = 0;
  for (const NodeEnd& node : verdict.nodes) {
    if (node.logs.empty() || ++named > most_nodes_named) continue;
    screen.say("logs", fmt::format("node {} (host {}): {}", node.node_rank, node.host, node.logs));
  }
  if (named > most_nodes_named) screen.say("logs", fmt::format("and of {} nodes more", named - most_nodes_named));
}

// What launch did, and the proof that nothing is left.
void say_deeds(const Verdict& verdict, Screen& screen) {
  int stopped = 0;
  int killed = 0;
  bool left = false;
  for (const NodeEnd& node : verdict.nodes) {
    stopped += node.stopped;
    killed += node.killed;
  }
  std::string deeds = stopped == 0 ? "" : fmt::format("stopped {}", counted(stopped, "worker"));
  if (killed > 0) deeds += fmt::format(", {} of them by SIGKILL", killed);
  if (verdict.restarts > 0)
    deeds +=
        fmt::format("{}had started all workers anew {}", deeds.empty() ? "" : "; ", counted(verdict.restarts, "time"));
  for (const NodeEnd& node : verdict.nodes)
    for (const std::string& process : node.left) {
      left = true;
      screen.say("left behind", fmt::format("on node {} (host {}): {}", node.node_rank, node.host, process));
    }
  if (!left) deeds += fmt::format("{}no process is left", deeds.empty() ? "" : "; ");
  if (!deeds.empty()) screen.say("launch", deeds);
}

// Nodes that gave no account, other than the one whose loss is the cause.
std::vector<int> silent_nodes(const Verdict& verdict) {
  std::set<int> told;
  for (const NodeEnd& node : verdict.nodes) told.insert(node.node_rank);
  if (verdict.first.kind == Failure::Kind::lost) told.insert(verdict.first.node_rank);
  std::vector<int> silent;
  for (int node = 0; node < verdict.nnodes; ++node)
    if (!told.contains(node)) silent.push_back(node);
  return silent;
}

}  // namespace

std::string render_verdict(const Verdict& verdict) {
  const bool told = verdict.first.kind == Failure::Kind::signal;
  Screen screen(fmt::format("{} {} (run id {})", verdict.program, told ? "STOPPED" : "FAILED", verdict.run_id));
  say_cause(verdict, screen);
  screen.say_groups("followers", merged(verdict.nodes, &NodeEnd::ends, true));
  screen.say_groups("at the time", merged(verdict.nodes, &NodeEnd::places, false));
  if (const auto silent = silent_nodes(verdict); !silent.empty())
    screen.say("no account", fmt::format("from {} {}", silent.size() == 1 ? "node" : "nodes", cut(as_ranges(silent))));
  say_logs(verdict, screen);
  say_deeds(verdict, screen);
  screen.say("exit code", std::to_string(verdict.first.exit_code));
  return std::move(screen).text();
}

std::string verdict_json(const Verdict& verdict) {
  Ordered object = {{"program", verdict.program},
                    {"run_id", verdict.run_id},
                    {"exit_code", verdict.first.exit_code},
                    {"nnodes", verdict.nnodes},
                    {"restarts", verdict.restarts},
                    {"root_cause", Ordered::parse(to_json(verdict.first))},
                    {"followers", write_groups(merged(verdict.nodes, &NodeEnd::ends, true))},
                    {"at_the_time", write_groups(merged(verdict.nodes, &NodeEnd::places, false))},
                    {"no_account", silent_nodes(verdict)},
                    {"nodes", Ordered::array()}};
  for (const NodeEnd& node : verdict.nodes) object["nodes"].push_back(as_json(node));
  return in_one_line(object);
}

}  // namespace launch
