#include "launch/core/failure_report.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_text = 2000;  // of what comes from another node or a worker

std::string kind_name(Failure::Kind kind) {
  switch (kind) {
    case Failure::Kind::worker:
      return "worker";
    case Failure::Kind::start:
      return "start";
    case Failure::Kind::rendezvous:
      return "rendezvous";
    case Failure::Kind::signal:
      return "signal";
    case Failure::Kind::store:
      return "store";
    case Failure::Kind::lost:
      return "lost";
  }
  return "worker";
}

std::optional<Failure::Kind> kind_of(std::string_view name) {
  using Kind = Failure::Kind;
  for (const Kind kind : {Kind::worker, Kind::start, Kind::rendezvous, Kind::signal, Kind::store, Kind::lost})
    if (kind_name(kind) == name) return kind;
  return std::nullopt;
}

int number_or(const Json& object, const char* name, int fallback) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return fallback;
  const auto value = it->get<std::int64_t>();
  return value < INT32_MIN || value > INT32_MAX ? fallback : static_cast<int>(value);
}

// Control characters from elsewhere must not reach the user's terminal.
std::string clean(std::string text) {
  text.resize(std::min(text.size(), longest_text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls are C2 80 to C2 9F in UTF-8.
    const bool after_c2 = i > 0 && text[i - 1] == '\xC2' && byte >= 0x80 && byte <= 0x9f;
    if (byte < 0x20 || byte == 0x7f || after_c2) text[i] = ' ';
    if (after_c2) text[i - 1] = ' ';
  }
  return text;
}

std::string text_or_empty(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? clean(it->get<std::string>()) : std::string();
}

}  // namespace

std::string to_json(const Failure& failure) {
  const Json object = {{"kind", kind_name(failure.kind)},
                       {"exit_code", failure.exit_code},
                       {"restart", failure.restart},
                       {"node_rank", failure.node_rank},
                       {"host", failure.host},
                       {"rank", failure.rank},
                       {"local_rank", failure.local_rank},
                       {"pid", failure.pid},
                       {"what", failure.what},
                       {"why_final", failure.why_final},
                       {"time", failure.time},
                       {"detail", failure.detail},
                       {"error_file", failure.error_file},
                       {"log_file", failure.log_file}};
  return object.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Failure> parse_failure(std::string_view json) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object())
    return Error{ErrorCode::protocol, "the abort key does not hold a failure as launch writes it"};
  const auto kind = kind_of(text_or_empty(object, "kind"));
  const int code = number_or(object, "exit_code", 0);
  if (!kind || code < 1 || code > 255)
    return Error{ErrorCode::protocol, "the abort key holds a failure without a known kind and exit code"};
  Failure failure;
  failure.kind = *kind;
  failure.exit_code = code;
  failure.restart = object.value("restart", Json()) == true;
  failure.node_rank = number_or(object, "node_rank", 0);
  failure.host = text_or_empty(object, "host");
  failure.rank = number_or(object, "rank", -1);
  failure.local_rank = number_or(object, "local_rank", -1);
  failure.pid = number_or(object, "pid", 0);
  failure.what = text_or_empty(object, "what");
  failure.why_final = text_or_empty(object, "why_final");
  failure.time = text_or_empty(object, "time");
  failure.detail = text_or_empty(object, "detail");
  failure.error_file = text_or_empty(object, "error_file");
  failure.log_file = text_or_empty(object, "log_file");
  return failure;
}

std::string describe(const Failure& failure) {
  std::string where = fmt::format("node {}", failure.node_rank);
  if (!failure.host.empty()) where += fmt::format(" (host {})", failure.host);
  if (failure.node_rank < 0) where = fmt::format("host {}", failure.host);  // it has no rank yet
  if (failure.rank >= 0) where = fmt::format("rank {} (local rank {}) on {}", failure.rank, failure.local_rank, where);
  if (failure.pid > 0) where += fmt::format(", pid {}", failure.pid);
  return fmt::format("{}: {}", where, failure.what);
}

std::string error_message(std::string_view error_json) {
  const Json value = Json::parse(error_json, nullptr, false);
  if (!value.is_object() || !value.contains("message")) return {};
  const Json& message = value["message"];
  if (message.is_string()) return clean(message.get<std::string>());
  return message.is_object() ? text_or_empty(message, "message") : std::string();
}

std::string error_for_parent(const Failure& first, std::string_view error_json) {
  Json value = Json::parse(error_json, nullptr, false);
  const bool of_the_worker = value.is_object() && value.contains("message") && value["message"].is_object();
  if (!of_the_worker) value = {{"message", {{"message", describe(first)}, {"extraInfo", Json::object()}}}};
  value["message"]["errorCode"] = first.exit_code;
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

namespace {

std::string end_text(const WorkerEnd& end) {
  return end.stopped_by_us ? fmt::format("{}, after launch stopped it", to_text(end.status)) : to_text(end.status);
}

// Ascending numbers as "0-6, 8": a node may have hundreds of workers.
std::string to_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

// "ranks 0-2, 5: exit code 0": workers that ended alike share a line.
std::string others_text(const std::vector<WorkerEnd>& others) {
  std::map<std::string, std::vector<int>> ranks_by_end;
  for (const WorkerEnd& end : others) ranks_by_end[end_text(end)].push_back(end.rank);
  std::string text;
  for (const auto& [how, ranks] : ranks_by_end)
    text += fmt::format("\n  also here      rank{} {}: {}", ranks.size() == 1 ? "" : "s", to_ranges(ranks), how);
  return text;
}

}  // namespace

std::string render_report(const ReportInput& input) {
  const Failure& first = input.first;
  std::string text =
      fmt::format("{} FAILED (run id {})\n  first failure  {}", input.program, input.run_id, describe(first));
  if (!first.time.empty()) text += fmt::format("\n  time           {}", first.time);
  if (!first.detail.empty()) text += fmt::format("\n  error          {}", first.detail);
  if (!first.error_file.empty()) text += fmt::format("\n  error file     {}", first.error_file);
  if (!first.log_file.empty()) text += fmt::format("\n  log            {}", first.log_file);
  if (first.kind == Failure::Kind::worker && first.detail.empty() && first.log_file.empty())
    text += "\n  log            the worker's own output, above (not redirected to a file)";
  if (!first.why_final.empty()) text += fmt::format("\n  not restarted  {}", first.why_final);
  text += others_text(input.others);
  text += fmt::format("\n  exit code      {}", first.exit_code);
  return text;
}

}  // namespace launch
