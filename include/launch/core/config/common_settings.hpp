// Settings that should be the same on all nodes of a job. If it could not run otherwise, a node that has another value
// is refused with the setting's name; else the node says so and goes on. Each node tells its own values; torchrun's
// agents are not asked for any. They are sent as text, one NAME=VALUE per line.
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

// "--heartbeat-timeout=5 s", one per line; and back. Lines of another form are left out.
std::string to_text(const CommonSettings& settings);
CommonSettings parse_common_settings(std::string_view text);

// Why `node`, which has `own`, cannot be in a job that has `job`. A setting that only one side names is not a reason:
// that side is another version of launch.
std::optional<Error> find_disagreement(const std::string& node, const CommonSettings& own, const CommonSettings& job);

// A sentence for each setting that this node has otherwise than the job, which can run so.
std::vector<std::string> find_differences(const CommonSettings& own, const CommonSettings& job);

// "the nodes disagree about NAME: NODE says OWN, the job has THEIRS; ..."
Error disagreement(std::string_view name, const std::string& node, std::string_view own, std::string_view theirs);

}  // namespace launch
