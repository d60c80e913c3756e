#include "launch/core/job/rank.hpp"

#include <type_traits>

namespace launch {

// They cost what an int costs.
static_assert(sizeof(NodeRank) == sizeof(int) && std::is_trivially_copyable_v<NodeRank>);

}  // namespace launch
