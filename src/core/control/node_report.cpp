#include "launch/core/control/node_report.hpp"

#include "launch/core/base/arithmetic.hpp"
#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

constexpr int any_rank = std::numeric_limits<int>::max();
constexpr std::int64_t count_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_pid = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t most_names = 16;
constexpr double longest_age_s = 1e9;
constexpr JsonBounds node_report_bounds{.size = std::size_t{16} << 20, .depth = 6};

void add_startup(nlohmann::json& json, const WorkerStartup& startup) {
  const auto add = [&json](const char* name, std::optional<double> age) {
    if (age) json[name] = *age;
  };
  if (!startup.pids.empty()) json["pids"] = startup.pids;
  add("started_age_s", startup.started_age_s);
  add("first_output_age_s", startup.first_output_age_s);
  add("first_step_age_s", startup.first_step_age_s);
  add("store_age_s", startup.store_age_s);
}

// A picture has room for no other.
std::optional<double> age_in(const JsonValue& json, double units_per_s = 1) {
  const auto age = json.number();
  const bool fits = age && *age >= 0 && *age <= longest_age_s * units_per_s;
  return fits ? std::optional(*age / units_per_s) : std::nullopt;
}

WorkerStartup worker_startup_of(const JsonValue& json) {
  WorkerStartup startup;
  for (const JsonValue& pid : json["pids"].list().value_or(std::vector<JsonValue>()))
    startup.pids.push_back(pid.whole(0, any_rank).value_or(0));
  startup.started_age_s = age_in(json["started_age_s"]);
  startup.first_output_age_s = age_in(json["first_output_age_s"]);
  startup.first_step_age_s = age_in(json["first_step_age_s"]);
  startup.store_age_s = age_in(json["store_age_s"]);
  return startup;
}

// Thousands of clients must fit into an answer: those of one address share a list of pids and milliseconds.
void add_startup(nlohmann::json& json, const NodeStartup& startup) {
  if (!startup.addresses.empty()) json["addresses"] = startup.addresses;
  if (startup.clients_left_out > 0) json["clients_left_out"] = startup.clients_left_out;
  std::map<std::pair<std::string, bool>, std::vector<std::int64_t>> by_address;
  for (const StartupClient& client : startup.clients) {
    auto& seen = by_address[{client.address, client.here}];
    seen.push_back(client.pid);
    seen.push_back(rounded(client.age_s * 1000));
  }
  for (const auto& [from, seen] : by_address)
    json["clients"].push_back({{"address", from.first}, {"here", from.second}, {"seen", seen}});
}

NodeStartup node_startup_of(const JsonValue& json) {
  NodeStartup startup;
  startup.addresses = json["addresses"].texts().value_or(std::vector<std::string>());
  startup.clients_left_out = json["clients_left_out"].whole(0, any_rank).value_or(0);
  for (const JsonValue& from : json["clients"].list().value_or(std::vector<JsonValue>())) {
    const std::string address = from["address"].text().value_or("");
    const bool here = from["here"].flag().value_or(false);
    const auto seen = from["seen"].list().value_or(std::vector<JsonValue>());
    for (std::size_t i = 0; i + 1 < seen.size(); i += 2)
      startup.clients.push_back({address, here, static_cast<std::uint32_t>(seen[i].count(most_pid).value_or(0)),
                                 age_in(seen[i + 1], 1000).value_or(0)});
  }
  std::stable_sort(startup.clients.begin(), startup.clients.end(),
                   [](const StartupClient& one, const StartupClient& other) { return one.age_s > other.age_s; });
  return startup;
}

nlohmann::json json_of(const WorkerReport& worker) {
  nlohmann::json json = {{"rank", worker.rank}, {"local_rank", worker.local_rank}, {"state", worker.state}};
  if (worker.pid != 0) json["pid"] = worker.pid;
  if (!worker.end.empty()) json["end"] = worker.end;
  if (worker.cpu_percent) json["cpu_percent"] = *worker.cpu_percent;
  if (worker.memory_bytes) json["memory_bytes"] = *worker.memory_bytes;
  if (worker.gpu_memory_bytes) json["gpu_memory_bytes"] = *worker.gpu_memory_bytes;
  if (!worker.last_line.empty()) json["last_line"] = worker.last_line;
  if (worker.last_line_age_s) json["last_line_age_s"] = *worker.last_line_age_s;
  if (worker.step) json["step"] = *worker.step;
  if (worker.rate) json["rate"] = *worker.rate;
  if (worker.step_age_s) json["step_age_s"] = *worker.step_age_s;
  if (worker.step_jump) json["step_jump"] = *worker.step_jump;
  if (!worker.stack.empty()) json["stack"] = worker.stack;
  for (const LogPiece& piece : worker.log) json["log"].push_back({{"stream", piece.stream}, {"text", piece.text}});
  add_startup(json, worker.startup);
  return json;
}

WorkerReport worker_of(const JsonValue& json) {
  WorkerReport worker;
  worker.rank = json["rank"].whole(0, any_rank).value_or(0);
  worker.local_rank = json["local_rank"].whole(0, any_rank).value_or(0);
  worker.pid = json["pid"].whole(0, any_rank).value_or(0);
  worker.state = json["state"].text().value_or("");
  worker.end = json["end"].text().value_or("");
  worker.cpu_percent = json["cpu_percent"].number();
  worker.memory_bytes = json["memory_bytes"].count(count_limit);
  worker.gpu_memory_bytes = json["gpu_memory_bytes"].count(count_limit);
  worker.last_line = json["last_line"].text().value_or("");
  worker.last_line_age_s = json["last_line_age_s"].number();
  worker.step = json["step"].number();
  worker.rate = json["rate"].number();
  worker.step_age_s = json["step_age_s"].number();
  worker.step_jump = json["step_jump"].number();
  worker.stack = json["stack"].texts().value_or(std::vector<std::string>());
  for (const JsonValue& piece : json["log"].list().value_or(std::vector<JsonValue>()))
    worker.log.push_back({piece["stream"].text().value_or(""), piece["text"].text().value_or("")});
  worker.startup = worker_startup_of(json);
  return worker;
}

}  // namespace

std::string to_json(const NodeReport& report) {
  nlohmann::json json = {{"node_rank", report.node_rank}, {"host", report.host}, {"run_id", report.run_id}};
  if (!report.fault.empty()) json["fault"] = report.fault;
  if (!report.done.empty()) json["done"] = report.done;
  if (!report.note.empty()) json["note"] = report.note;
  if (report.more) json["more"] = true;
  if (report.pid != 0) {
    json["pid"] = report.pid;
    json["program"] = report.program;
    json["state"] = report.state;
    json["since"] = report.since;
    json["age_s"] = report.age_s;
    json["round"] = report.round;
    json["restart"] = report.restart;
    json["nnodes"] = report.nnodes;
    json["world_size"] = report.world_size;
    if (report.quiet_s) json["quiet_s"] = *report.quiet_s;
    if (report.quiet_by_steps) json["quiet_by_steps"] = true;
    add_startup(json, report.startup);
    json["workers"] = nlohmann::json::array();
    for (const WorkerReport& worker : report.workers) json["workers"].push_back(json_of(worker));
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<NodeReport> parse_node_report(std::string_view text) {
  const JsonValue json = read_json(text, node_report_bounds);
  if (!json.is_object()) return Error{ErrorCode::protocol, "that is no report of a node"};
  NodeReport report;
  report.node_rank = json["node_rank"].whole(-1, any_rank).value_or(-1);
  report.host = json["host"].text().value_or("");
  report.run_id = json["run_id"].text().value_or("");
  report.program = json["program"].text().value_or("");
  report.pid = json["pid"].whole(0, any_rank).value_or(0);
  report.state = json["state"].text().value_or("");
  report.since = json["since"].text().value_or("");
  report.age_s = json["age_s"].number().value_or(0);
  report.round = json["round"].whole64(0, count_limit).value_or(0);
  report.restart = json["restart"].whole(0, any_rank).value_or(0);
  report.nnodes = json["nnodes"].whole(0, any_rank).value_or(0);
  report.world_size = json["world_size"].whole(0, any_rank).value_or(0);
  report.quiet_s = json["quiet_s"].number();
  report.quiet_by_steps = json["quiet_by_steps"].flag().value_or(false);
  report.done = json["done"].text().value_or("");
  report.fault = json["fault"].text().value_or("");
  report.note = json["note"].text().value_or("");
  report.more = json["more"].flag().value_or(false);
  report.startup = node_startup_of(json);
  for (const JsonValue& worker : json["workers"].list().value_or(std::vector<JsonValue>()))
    report.workers.push_back(worker_of(worker));
  return report;
}

std::vector<NodeReport> parse_node_reports(std::string_view lines) {
  std::vector<NodeReport> reports;
  for (const std::string_view line : split(lines, '\n'))
    if (auto report = parse_node_report(line)) reports.push_back(*std::move(report));
  return reports;
}

bool are_of_two_jobs(const NodeReport& one, const NodeReport& other) {
  const bool both_run = one.state == "running" && other.state == "running";
  return one.node_rank >= 0 && one.node_rank == other.node_rank && (one.round == other.round || both_run);
}

bool comes_before(const NodeReport& one, const NodeReport& other) {
  return std::tie(one.run_id, one.node_rank) < std::tie(other.run_id, other.node_rank);
}

void sort_by_node(std::vector<NodeReport>& nodes) { std::stable_sort(nodes.begin(), nodes.end(), comes_before); }

Result<int> find_node(const std::vector<NodeReport>& nodes, const std::string& word) {
  std::vector<int> found;
  std::vector<std::string> names;
  for (const NodeReport& node : nodes) {
    if (node.node_rank < 0) continue;
    names.push_back(node.host.empty() ? std::to_string(node.node_rank)
                                      : fmt::format("{} ({})", node.node_rank, shown(node.host)));
    if (word == node.host || word == std::to_string(node.node_rank)) found.push_back(node.node_rank);
  }
  if (found.size() == 1) return found.front();
  if (names.size() > most_names) {
    names.resize(most_names);
    names.emplace_back("...");
  }
  if (found.empty())
    return usage_error(fmt::format("no node {}; the nodes are {}", shown(word), fmt::join(names, ", ")));
  return usage_error(fmt::format("host {} has several nodes: say one of {}", shown(word), fmt::join(found, ", ")));
}

}  // namespace launch
