#include "launch/core/job/node_desc.hpp"

#include "launch/core/base/text.hpp"

#include <fmt/format.h>

namespace launch {

std::string to_text(const NodeDesc& node) { return fmt::format("{} (pid {})", shown(node.addr), node.pid); }

}  // namespace launch
