#include "launch/core/cluster/start_values.hpp"

#include "launch/core/base/text.hpp"

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::uint64_t row_step = 977;  // so that two rows that meet in one port part again
constexpr std::size_t row_length = 16;

}  // namespace

Result<std::string> StartValues::text(std::string_view name) const {
  if (auto value = env_.get(name); value && !value->empty()) return *std::move(value);
  return usage_error(
      fmt::format("{} is not set, although {} started launch; set it again, or give --cluster=none and all options of "
                  "the job",
                  name, starter_));
}

Result<Said<int>> StartValues::number(std::string_view name, int least, int most) const {
  const auto value = env_.get(name);
  if (!value) return text(name).error();
  const auto number = parse_int(*value);
  if (number && *number >= least && *number <= most) return Said<int>{*number, std::string(name)};
  return usage_error(fmt::format("{}: expected a number from {} to {}", as_typed(name, *value), least, most));
}

Result<Said<NodeRank>> StartValues::rank(std::string_view name, int nodes) const {
  auto value = number(name, 0, nodes - 1);
  if (!value) return value.error();
  return Said<NodeRank>{NodeRank(value->value), std::move(value->from)};
}

std::string_view first_label(std::string_view host) { return host.substr(0, host.find('.')); }

std::uint16_t port_by(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same on every node, whatever it was built with
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::uint16_t>(first_own_port + hash % own_port_count);
}

std::vector<std::uint16_t> ports_by(std::string_view text) {
  std::vector<std::uint16_t> ports{port_by(text)};
  while (ports.size() < row_length)
    ports.push_back(
        static_cast<std::uint16_t>(first_own_port + (ports.back() - first_own_port + row_step) % own_port_count));
  return ports;
}

}  // namespace launch
