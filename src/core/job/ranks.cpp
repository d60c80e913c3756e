#include "launch/core/job/ranks.hpp"

#include "launch/core/base/text.hpp"

#include <cstdint>
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
    a.base_global_rank = world_size;
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
  return fmt::format(R"({{"role": {}, "rank": {}, "local_world_size": {}}})", role, member.group_rank,
                     member.local_world_size);
}

namespace {

// A number that a rank can be; anything else, floats included, is refused.
std::optional<int> small_count(const nlohmann::json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number > 100'000'000) return std::nullopt;
  return static_cast<int>(number);
}

Error malformed(std::string_view what, std::string_view json) {
  return protocol_error(fmt::format("{} is not as torchrun's agents write it: {}", what, shown(json)));
}

}  // namespace

Result<Member> parse_member(std::string_view json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  if (!value.is_object() || !value.contains("role") || !value.contains("rank") || !value.contains("local_world_size"))
    return malformed("a node's role_info", json);
  const auto rank = small_count(value["rank"]);
  const auto size = small_count(value["local_world_size"]);
  if (!value["role"].is_string() || !rank || !size || *size == 0) return malformed("a node's role_info", json);
  return Member{*rank, value["role"].get<std::string>(), *size};
}

std::string to_json(const Assignment& assignment) {
  return fmt::format("[{}, {}, {}, {}]", assignment.base_global_rank, assignment.world_size, assignment.base_role_rank,
                     assignment.role_world_size);
}

Result<Assignment> parse_assignment(std::string_view json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  if (!value.is_array() || value.size() != 4) return malformed("assigned_ranks", json);
  std::vector<int> numbers;
  for (const auto& item : value) {
    const auto number = small_count(item);
    if (!number) return malformed("assigned_ranks", json);
    numbers.push_back(*number);
  }
  return Assignment{0, 0, numbers[0], numbers[1], numbers[2], numbers[3]};
}

}  // namespace launch
