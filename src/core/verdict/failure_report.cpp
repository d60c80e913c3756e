#include "launch/core/verdict/failure_report.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_text = 2000;  // of what comes from another node or a worker
constexpr std::size_t most_frames = 32;
constexpr std::size_t most_last_lines = 8;                                  // and other exceptions
constexpr JsonBounds failure_bounds{.size = std::size_t{1} * 1024 * 1024};  // for all texts at their longest, escaped

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
    case Failure::Kind::hang:
      return "hang";
    case Failure::Kind::lost:
      return "lost";
    case Failure::Kind::asked:
      return "asked";
  }
  return "worker";
}

std::optional<Failure::Kind> kind_of(std::string_view name) {
  using enum Failure::Kind;
  for (const Failure::Kind kind : {worker, start, rendezvous, signal, store, hang, lost, asked})
    if (kind_name(kind) == name) return kind;
  return std::nullopt;
}

int number_or(const JsonValue& value, int fallback) {
  using Limits = std::numeric_limits<int>;
  return value.whole(Limits::min(), Limits::max()).value_or(fallback);
}

std::string clean(std::string_view text) { return without_controls(text, longest_text); }

std::string text_or_empty(const JsonValue& value) { return clean(value.text().value_or("")); }

Failure failure_at(FailurePlace where, Failure::Kind kind, int exit_code, std::string what) {
  Failure failure;
  failure.kind = kind;
  failure.exit_code = exit_code;
  failure.node_rank = where.node_rank;
  failure.host = std::move(where.host);
  failure.what = std::move(what);
  return failure;
}

Failure of_one(FailedWorker who, Failure failure) {
  failure.rank = who.rank;
  failure.local_rank = who.local_rank;
  failure.pid = who.pid;
  failure.time = std::move(who.time);
  return failure;
}

constexpr std::string_view signs_of_time_out[] = {"imeout", "imed out", "ime out", "atchdog"};
constexpr std::string_view signs_of_closed[] = {"onnection", "roken pipe", "remote process exited"};

bool says_any(std::string_view text, std::span<const std::string_view> signs) {
  return std::any_of(signs.begin(), signs.end(), [&](auto sign) { return text.find(sign) != std::string_view::npos; });
}

// The worker's error, or one that led to it.
bool errs_by_any(const Failure& failure, std::span<const std::string_view> signs) {
  const auto says = [&](const std::string& error) { return says_any(error, signs); };
  return says(failure.detail) || std::any_of(failure.causes.begin(), failure.causes.end(), says);
}

// A time-out of a download or a lock has nothing to do with other ranks.
bool is_about_ranks(const Failure& failure) {
  constexpr std::string_view signs_of_ranks[] = {
      "gloo",     "nccl",    "NCCL",   "HCCL",         "ollective",    "Dist",          "c10d",
      "TCPStore", "clients", "arrier", "rocess group", "ProcessGroup", "recv operation"};
  const auto in_torch = [](const std::string& frame) { return frame.find("torch/distributed/") != std::string::npos; };
  return failure.kind == Failure::Kind::worker &&
         (errs_by_any(failure, signs_of_ranks) || std::any_of(failure.frames.begin(), failure.frames.end(), in_torch));
}

}  // namespace

Failure failure_of_worker(FailurePlace where, FailedWorker who, const ExitStatus& status) {
  return of_one(std::move(who),
                failure_at(std::move(where), Failure::Kind::worker, exit_code(status), to_text(status)));
}

Failure failure_of_start(FailurePlace where, std::string what) {
  return failure_at(std::move(where), Failure::Kind::start, 1, std::move(what));
}

Failure failure_of_start(FailurePlace where, FailedWorker who, int exit_code, std::string what) {
  return of_one(std::move(who), failure_at(std::move(where), Failure::Kind::start, exit_code, std::move(what)));
}

Failure failure_of_rendezvous(FailurePlace where, const Error& error) {
  return failure_at(std::move(where), Failure::Kind::rendezvous, exit_code(error.code), error.message);
}

Failure failure_of_signal(FailurePlace where, int exit_code, std::string what) {
  return failure_at(std::move(where), Failure::Kind::signal, exit_code, std::move(what));
}

Failure failure_of_store(FailurePlace where, std::string what) {
  return failure_at(std::move(where), Failure::Kind::store, 1, std::move(what));
}

Failure failure_of_hang(std::string what) { return failure_at({}, Failure::Kind::hang, 1, std::move(what)); }

Failure failure_of_lost_node(FailurePlace where, std::string what) {
  return failure_at(std::move(where), Failure::Kind::lost, 1, std::move(what));
}

Failure restart_asked_for(FailurePlace where, std::string what) {
  Failure asked = failure_at(std::move(where), Failure::Kind::asked, 1, std::move(what));
  asked.restart = true;
  return asked;
}

// What is not known is left out to keep it short: the store keeps four of these for each node (last_will).
std::string to_json(const Failure& failure) {
  Json object = Json::object();
  object["kind"] = kind_name(failure.kind);
  object["exit_code"] = failure.exit_code;
  object["restart"] = failure.restart;
  object["node_rank"] = failure.node_rank.value;
  if (failure.restarts > 0) object["restarts"] = failure.restarts;
  if (failure.rank.known()) object["rank"] = failure.rank.value;
  if (failure.local_rank.known()) object["local_rank"] = failure.local_rank.value;
  if (failure.pid > 0) object["pid"] = failure.pid;
  const auto add_text = [&object](const char* name, const std::string& text) {
    if (!text.empty()) object[name] = text;
  };
  add_text("host", failure.host);
  add_text("what", failure.what);
  add_text("why_final", failure.why_final);
  add_text("time", failure.time);
  add_text("detail", failure.detail);
  add_text("note", failure.note);
  add_text("error_file", failure.error_file);
  add_text("log_file", failure.log_file);
  const auto add_lines = [&object](const char* name, const std::vector<std::string>& lines) {
    if (!lines.empty()) object[name] = lines;
  };
  add_lines("causes", failure.causes);
  add_lines("members", failure.members);
  add_lines("frames", failure.frames);
  add_lines("last_lines", failure.last_lines);
  return object.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Failure> parse_failure(std::string_view json) { return read_failure(read_json(json, failure_bounds)); }

Result<Failure> read_failure(const JsonValue& object) {
  if (!object.is_object())
    return Error{ErrorCode::protocol, "the abort key does not hold a failure as launch writes it"};
  const auto kind = kind_of(text_or_empty(object["kind"]));
  const int code = number_or(object["exit_code"], 0);
  if (!kind || code < 1 || code > 255)
    return Error{ErrorCode::protocol, "the abort key holds a failure without a known kind and exit code"};
  Failure failure;
  failure.kind = *kind;
  failure.exit_code = code;
  failure.restart = object["restart"].flag().value_or(false);
  failure.restarts = std::max(number_or(object["restarts"], 0), 0);
  failure.node_rank = NodeRank(number_or(object["node_rank"], 0));
  failure.host = text_or_empty(object["host"]);
  failure.rank = GlobalRank(number_or(object["rank"], -1));
  failure.local_rank = LocalRank(number_or(object["local_rank"], -1));
  failure.pid = number_or(object["pid"], 0);
  failure.what = text_or_empty(object["what"]);
  failure.why_final = text_or_empty(object["why_final"]);
  failure.time = text_or_empty(object["time"]);
  failure.detail = text_or_empty(object["detail"]);
  failure.note = text_or_empty(object["note"]);
  failure.error_file = text_or_empty(object["error_file"]);
  failure.log_file = text_or_empty(object["log_file"]);
  failure.causes = object["causes"].lines(most_last_lines, longest_text);
  failure.members = object["members"].lines(most_last_lines, longest_text);
  failure.frames = object["frames"].lines(most_frames, longest_text);
  failure.last_lines = object["last_lines"].lines(most_last_lines, longest_text);
  return failure;
}

bool concerns_workers(const Failure& failure) {
  using enum Failure::Kind;
  return failure.kind == worker || failure.kind == start || failure.kind == hang;
}

bool smells_of_hang(const Failure& failure) {
  if (failure.kind == Failure::Kind::hang) return true;
  if (failure.kind != Failure::Kind::worker) return false;
  constexpr std::string_view abort = "SIGABRT";
  return failure.what.find(abort) != std::string::npos || says_any(failure.what, signs_of_time_out) ||
         failure.detail.find(abort) != std::string::npos || errs_by_any(failure, signs_of_time_out);
}

bool timed_out(const Failure& failure) { return errs_by_any(failure, signs_of_time_out) && is_about_ranks(failure); }

bool lost_its_peer(const Failure& failure) {
  return !timed_out(failure) && errs_by_any(failure, signs_of_closed) && is_about_ranks(failure);
}

bool is_due_to_others(const Failure& failure) { return timed_out(failure) || lost_its_peer(failure); }

bool speaks_of_others(const Failure& failure) {
  return errs_by_any(failure, signs_of_time_out) || errs_by_any(failure, signs_of_closed);
}

std::string describe(const Failure& failure) {
  if (!failure.node_rank.known() && failure.host.empty()) return failure.what;
  std::string where = fmt::format("node {}", failure.node_rank.value);
  if (!failure.host.empty()) where += fmt::format(" (host {})", failure.host);
  if (!failure.node_rank.known()) where = fmt::format("host {}", failure.host);  // it has no rank yet
  if (failure.rank.known())
    where = fmt::format("rank {} (local rank {}) on {}", failure.rank.value, failure.local_rank.value, where);
  if (failure.pid > 0) where += fmt::format(", pid {}", failure.pid);
  return fmt::format("{}: {}", where, failure.what);
}

std::string error_message(std::string_view error_json) {
  const JsonValue message = read_json(error_json, error_file_bounds)["message"];
  return text_or_empty(message.is_object() ? message["message"] : message);
}

std::string error_traceback(std::string_view error_json) {
  return read_json(error_json, error_file_bounds)["message"]["extraInfo"]["py_callstack"].text().value_or("");
}

std::string error_for_parent(const Failure& first, std::string_view error_json) {
  Json value = is_json(error_json, error_file_bounds) ? Json::parse(error_json) : Json();
  const bool of_the_worker = value.is_object() && value.contains("message") && value["message"].is_object();
  if (!of_the_worker) value = {{"message", {{"message", describe(first)}, {"extraInfo", Json::object()}}}};
  value["message"]["errorCode"] = first.exit_code;
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace launch
