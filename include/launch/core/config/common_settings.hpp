// Settings with which a job works only when they are the same on all its nodes, so that a node that has another value
// is refused with the setting's name. Each node says its own; nothing here is asked of torchrun's agents. They travel
// as text, one NAME=VALUE a line.
#pragma once

#include "launch/core/base/error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launch {

struct Config;

// Names as the user knows them, and values as text.
using CommonSettings = std::vector<std::pair<std::string, std::string>>;

CommonSettings common_settings(const Config& config);

// "--heartbeat-timeout=5 s", one a line; and back. What is no such line is left out.
std::string to_text(const CommonSettings& settings);
CommonSettings parse_common_settings(std::string_view text);

// Why `node`, which has `own`, cannot be in a job that has `job`. A setting that only one side names is no reason: that
// side is another version of launch.
std::optional<Error> find_disagreement(const std::string& node, const CommonSettings& own, const CommonSettings& job);

// "the nodes disagree about NAME: NODE says OWN, the job has THEIRS; ..."
Error disagreement(std::string_view name, const std::string& node, std::string_view own, std::string_view theirs);

}  // namespace launch
