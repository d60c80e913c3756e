#include "launch/core/events/torchelastic_event.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using PythonJson = nlohmann::ordered_json;

constexpr int deepest_error = 100;  // a worker may have written anything

// As Python writes a float: the fewest digits that read back as the same number. nlohmann sometimes writes more.
std::string python_number(std::string_view digits) {
  const bool is_float = digits.find_first_of(".e") != std::string_view::npos;
  const auto value = is_float ? parse_decimal(digits) : std::nullopt;
  if (!value) return std::string(digits);
  std::string text = fmt::format("{}", *value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// As json.dumps does: numbers as Python writes them, and a space after each comma and colon that is not inside a text.
std::string python_text(const PythonJson& value) {
  const std::string dumped = value.dump(-1, ' ', true, PythonJson::error_handler_t::replace);
  std::string result;
  bool quoted = false;
  bool escaped = false;
  for (std::size_t at = 0; at < dumped.size(); ++at) {
    const char c = dumped[at];
    if (!quoted && (c == '-' || (c >= '0' && c <= '9'))) {
      const auto size = std::min(dumped.find_first_not_of("+-.0123456789e", at), dumped.size()) - at;
      result += python_number(std::string_view(dumped).substr(at, size));
      at += size - 1;
      continue;
    }
    result += c;
    if (c == '"' && !escaped) quoted = !quoted;
    escaped = c == '\\' && !escaped;
    if (!quoted && (c == ',' || c == ':')) result += ' ';
  }
  return result;
}

template <class T>
PythonJson or_null(const std::optional<T>& value) {
  return value ? PythonJson(*value) : PythonJson();
}

PythonJson list_of_one(PythonJson value) {
  PythonJson list = PythonJson::array();
  list.push_back(std::move(value));
  return list;
}

std::string inner_metadata(const TorchelasticContext& context, const TorchelasticEvent& event) {
  PythonJson inner = {{"group_world_size", or_null(event.group_world_size)}, {"entry_point", context.entry_point}};
  if (const auto& worker = event.worker) {
    inner["local_rank"] = list_of_one(worker->local_rank.value);
    inner["role_rank"] = list_of_one(worker->role_rank);
    inner["role_world_size"] = list_of_one(worker->role_world_size);
    inner["exit_code"] = list_of_one(or_null(worker->failed_with));
    inner["worker_pid"] = list_of_one(worker->failed_with ? PythonJson(worker->pid) : PythonJson());
  }
  return python_text(inner);
}

}  // namespace

std::string torchelastic_line(const TorchelasticContext& context, const TorchelasticEvent& event) {
  const auto& worker = event.worker;
  const PythonJson metadata = {{"run_id", context.run_id},
                               {"global_rank", worker ? PythonJson(worker->global_rank.value) : PythonJson()},
                               {"group_rank", event.group_rank ? PythonJson(event.group_rank->value) : PythonJson()},
                               {"worker_id", worker ? PythonJson(std::to_string(worker->pid)) : PythonJson()},
                               {"role", context.role},
                               {"hostname", context.hostname},
                               {"state", event.state},
                               {"total_run_time", event.total_run_time},
                               {"rdzv_backend", context.backend},
                               {"raw_error", or_null(event.raw_error)},
                               {"metadata", inner_metadata(context, event)},
                               {"agent_restarts", event.agent_restarts},
                               {"duration_ms", or_null(event.duration_ms)}};
  return python_text({{"name", fmt::format("torchelastic.worker.status.{}", event.state)},
                      {"source", worker ? "WORKER" : "AGENT"},
                      {"timestamp", 0},
                      {"metadata", metadata}});
}

std::string torchelastic_raw_error(std::string_view error_json, bool traits) {
  const auto shallow = [](int depth, auto, auto&) { return depth < deepest_error; };
  PythonJson error = PythonJson::parse(error_json, shallow, false);
  if (!error.is_object()) {
    error = {{"message", "<NONE>"}};
    if (traits) error["errorTraits"] = {{"category", "system_terminated_error"}, {"retryability", "False"}};
  }
  return python_text(error);
}

}  // namespace launch
