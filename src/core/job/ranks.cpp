#include "launch/core/job/ranks.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {

std::vector<Assignment> assign_ranks(const std::vector<Member>& members) {
  int world_size = 0;
  std::map<std::string, int> role_sizes;
  std::vector<Assignment> result;
  for (const Member& member : members) {
    Assignment a;
    a.group_rank = member.group_rank;
    a.group_world_size = static_cast<int>(members.size());
    a.base_global_rank = GlobalRank(world_size);
    a.base_role_rank = role_sizes[member.role];
    world_size += member.local_world_size;
    role_sizes[member.role] += member.local_world_size;
    result.push_back(a);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    result[i].world_size = world_size;
    result[i].role_world_size = role_sizes[members[i].role];
  }
  return result;
}

std::string to_json(const Member& member) {
  const std::string role = nlohmann::json(member.role).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return fmt::format(R"({{"role": {}, "rank": {}, "local_world_size": {}}})", role, member.group_rank.value,
                     member.local_world_size);
}

namespace {

constexpr int most_workers = 100'000'000;

Error malformed(std::string_view what, std::string_view json) {
  return protocol_error(fmt::format("{} is not as torchrun's agents write it: {}", what, shown(json)));
}

}  // namespace

Result<Member> parse_member(std::string_view json) {
  const JsonValue value = read_json(json);
  Needed need;
  Member member{NodeRank(need(value["rank"].whole(0, most_workers))), need(value["role"].text()),
                need(value["local_world_size"].whole(1, most_workers))};
  if (!need.met()) return malformed("a node's role_info", json);
  return member;
}

std::string to_json(const Assignment& assignment) {
  return fmt::format("[{}, {}, {}, {}]", assignment.base_global_rank.value, assignment.world_size,
                     assignment.base_role_rank, assignment.role_world_size);
}

Result<Assignment> parse_assignment(std::string_view json) {
  Needed need;
  std::vector<int> numbers;
  for (const JsonValue& item : need(read_json(json).list())) numbers.push_back(need(item.whole(0, most_workers)));
  if (!need.met() || numbers.size() != 4) return malformed("assigned_ranks", json);
  return Assignment{.base_global_rank = GlobalRank(numbers[0]),
                    .world_size = numbers[1],
                    .base_role_rank = numbers[2],
                    .role_world_size = numbers[3]};
}

}  // namespace launch
