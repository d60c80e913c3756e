#include "launch/core/config/common_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/config/config.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view restarts_name = "--max-restarts";
constexpr std::string_view program_name = "program";
constexpr std::string_view version_name = "version of launch";
constexpr std::string_view protocol_name = "protocol of launch";

// What launch's agents say to each other beside PyTorch's protocol. To be raised if an agent of the version before
// could no longer take part; both then say so, and neither guesses.
constexpr std::string_view protocol = "1";

// Whether the job can run if the nodes have different values.
bool may_differ(std::string_view name) {
  return name == restarts_name || name == version_name || name.starts_with(program_name);
}

// Nodes of different roles may well run different programs, and the same one may be in another folder.
std::pair<std::string, std::string> program_setting(const Config& config) {
  const std::string& name = config.program.name;
  return {fmt::format("{} (role {})", program_name, config.role), name.substr(name.rfind('/') + 1)};
}

// Calls `visit` with the name and both values of each setting that both sides name with different values.
template <class Visit>
void compare(const CommonSettings& own, const CommonSettings& job, Visit visit) {
  for (const auto& [name, value] : own) {
    for (const auto& [same, theirs] : job)
      if (same == name && theirs != value) visit(name, value, theirs);
  }
}

std::string quorum_of(const C10dChoice& choice) {
  if (choice.by_majority) return "majority";
  return choice.host_moves ? "host" : "none";
}

}  // namespace

// The host and the nodes measure each other's silence, so they must use the same limit. Nodes with
// TORCH_ELASTIC_WORKER_IDENTICAL=1 compute their ranks; the others wait to be told theirs.
CommonSettings common_settings(const Config& config) {
  CommonSettings settings = {{std::string(protocol_name), std::string(protocol)},
                             {"--heartbeat-timeout", to_text(config.heartbeat_timeout)}};
  if (config.c10d() == nullptr)
    settings.emplace_back("TORCH_ELASTIC_WORKER_IDENTICAL", config.identical_workers ? "1" : "0");
  else
    settings.emplace_back("--quorum", quorum_of(*config.c10d()));
  if (config.started_as_rank)
    settings.emplace_back("workers of a launch", config.place ? "one" : "as many as it wants");
  settings.emplace_back(restarts_name, std::to_string(config.restarts.max_restarts));
  settings.push_back(program_setting(config));
  settings.emplace_back(version_name, LAUNCH_VERSION);
  return settings;
}

std::string to_text(const CommonSettings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += fmt::format("{}={}\n", name, value);
  return text;
}

CommonSettings parse_common_settings(std::string_view text) {
  CommonSettings settings;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) settings.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return settings;
}

std::optional<Error> find_disagreement(const std::string& node, const CommonSettings& own, const CommonSettings& job) {
  std::optional<Error> first;
  compare(own, job, [&](const std::string& name, const std::string& value, const std::string& theirs) {
    if (!first && !may_differ(name)) first = disagreement(name, node, value, theirs);
  });
  return first;
}

std::vector<std::string> find_differences(const CommonSettings& own, const CommonSettings& job) {
  std::vector<std::string> sentences;
  compare(own, job, [&](const std::string& name, const std::string& value, const std::string& theirs) {
    if (!may_differ(name)) return;
    const std::string_view who = name == restarts_name ? "; the node whose worker fails decides" : "";
    sentences.push_back(fmt::format("the nodes differ in {}: this one has {}, another one {}{}", name, shown(value),
                                    shown(theirs), who));
  });
  return sentences;
}

Error disagreement(std::string_view name, const std::string& node, std::string_view own, std::string_view theirs) {
  if (name == protocol_name) {
    return {ErrorCode::conflict,
            fmt::format("{} speaks {} {}, the job {}; run the same version of launch on every node (this is {})", node,
                        name, shown(own), shown(theirs), LAUNCH_VERSION)};
  }
  return {ErrorCode::conflict,
          fmt::format("conflicting {0}: {1} has {2}, the job has {3}; give the same {0} on every node", name, node,
                      shown(own), shown(theirs))};
}

}  // namespace launch
