#include "launch/core/control/control_request.hpp"

#include "launch/core/base/json_reader.hpp"

#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace launch {
namespace {

using Verb = ControlRequest::Verb;

constexpr int most_of_any = std::numeric_limits<int>::max();
constexpr int most_signal = 64;
constexpr JsonBounds request_bounds{.size = 4096, .depth = 2};
constexpr std::array<std::pair<Verb, std::string_view>, 6> verbs = {{{Verb::about, "about"},
                                                                     {Verb::status, "status"},
                                                                     {Verb::stacks, "stacks"},
                                                                     {Verb::quiet, "quiet"},
                                                                     {Verb::signal, "signal"},
                                                                     {Verb::stop, "stop"}}};

std::string_view name_of(Verb verb) {
  for (const auto& [known, name] : verbs)
    if (known == verb) return name;
  return "";
}

std::optional<Verb> verb_of(const std::optional<std::string>& name) {
  for (const auto& [verb, known] : verbs)
    if (name == known) return verb;
  return std::nullopt;
}

}  // namespace

std::string to_json(const ControlRequest& request) {
  nlohmann::json json = {{"verb", name_of(request.verb)}, {"whole_job", request.whole_job}, {"asker", request.asker}};
  if (request.rank) json["rank"] = *request.rank;
  if (request.signal != 0) json["signal"] = request.signal;
  return json.dump();
}

Result<ControlRequest> parse_request(std::string_view text) {
  const JsonValue json = read_json(text, request_bounds);
  if (!json.is_object()) return Error{ErrorCode::protocol, "the request is not a JSON object of at most 4 KiB"};
  const auto verb = verb_of(json["verb"].text());
  if (!verb) return Error{ErrorCode::protocol, "this launch does not know such a request; another version asks"};
  ControlRequest request;
  request.verb = *verb;
  request.whole_job = json["whole_job"].flag().value_or(true);
  request.asker = json["asker"].whole(0, most_of_any).value_or(0);
  request.rank = json["rank"].whole(0, most_of_any);
  if (json["rank"].present() && !request.rank) return Error{ErrorCode::protocol, "the rank is no whole number"};
  request.signal = json["signal"].whole(1, most_signal).value_or(0);
  if (request.verb == Verb::signal && request.signal == 0)
    return Error{ErrorCode::protocol, "the signal is no number from 1 to 64"};
  return request;
}

}  // namespace launch
