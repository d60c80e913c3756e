// Assigns ranks to members, and has the JSON in which torchrun's agents exchange both (docs/store_protocol.md has the
// keys). torchrun's texts are read and written byte for byte as Python's json module does. Who is a member is decided
// elsewhere; parsing bounds the text and the numbers, nothing else.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/job.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// REQUIRES: members[i].group_rank == i. The base of RANK is the number of workers with lower group ranks; that of
// ROLE_RANK counts only those of the same role.
std::vector<Assignment> assign_ranks(const std::vector<Member>& members);

// {"role": "default", "rank": 0, "local_world_size": 2}
std::string to_json(const Member& member);
Result<Member> parse_member(std::string_view json);

// [base_global_rank, world_size, base_role_rank, role_world_size]; the group numbers are not in the text.
std::string to_json(const Assignment& assignment);
Result<Assignment> parse_assignment(std::string_view json);

}  // namespace launch
