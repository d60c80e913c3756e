#include "launch/core/cluster/apinfo.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/start_values.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace launch {
namespace {

// Where the header has its numbers: a size, an offset and a count for each kind of element, after the version and the
// size of the whole.
constexpr std::size_t total_size_at = 8;
constexpr std::size_t ranks_at = 64;
constexpr std::size_t nodes_at = 88;
constexpr std::size_t header_size = 112;  // as far as it is read
constexpr std::size_t name_size = 64;
constexpr std::size_t name_at = 4;  // in a node

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

struct Table {
  std::size_t stride = 0, offset = 0, count = 0;
};

// nullopt: it is not in the file, or its elements are smaller than they can be.
std::optional<Table> table_at(std::string_view bytes, std::size_t at, std::size_t least) {
  const Table table{number_at<std::uint64_t>(bytes, at), number_at<std::uint64_t>(bytes, at + 8),
                    static_cast<std::size_t>(std::max(0, number_at<std::int32_t>(bytes, at + 16)))};
  constexpr std::size_t most_stride = 4096;
  const bool fits = table.stride >= least && table.stride <= most_stride && table.count >= 1 &&
                    table.count <= static_cast<std::size_t>(most_cluster_nodes) && table.offset <= bytes.size() &&
                    table.count * table.stride <= bytes.size() - table.offset;
  return fits ? std::optional(table) : std::nullopt;
}

std::string name_of(std::string_view node) {
  const std::string_view name = node.substr(name_at, name_size);
  return std::string(name.substr(0, name.find('\0')));
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() < name_size &&
         std::all_of(name.begin(), name.end(), [](unsigned char one) { return std::isgraph(one) != 0; });
}

Error nonsense(std::string_view what) { return usage_error(fmt::format("the file has {}", what)); }

}  // namespace

Result<ApInfo> parse_apinfo(std::string_view bytes) {
  if (bytes.size() < header_size) return nonsense("no header");
  if (const auto version = number_at<std::int32_t>(bytes, 0); version < 1 || version > 99)
    return nonsense(fmt::format("the unknown version {}", version));
  if (number_at<std::uint64_t>(bytes, total_size_at) > bytes.size()) return nonsense("less than its header says");
  const auto ranks = table_at(bytes, ranks_at, 12);
  const auto nodes = table_at(bytes, nodes_at, name_at + name_size);
  if (!ranks || !nodes) return nonsense("a table that is not in it");
  ApInfo info;
  for (std::size_t i = 0; i < ranks->count; ++i) {
    const std::size_t at = ranks->offset + i * ranks->stride;
    const auto local = number_at<std::int32_t>(bytes, at);
    const auto node = number_at<std::int32_t>(bytes, at + 8);
    if (local < 0 || local >= most_cluster_nodes || node < 0 || static_cast<std::size_t>(node) >= nodes->count)
      return nonsense(fmt::format("no node for rank {}", i));
    std::string name = name_of(bytes.substr(nodes->offset + static_cast<std::size_t>(node) * nodes->stride));
    if (!is_name(name)) return nonsense(fmt::format("no name for node {}", node));
    info.hosts.push_back(std::move(name));
    info.local_ranks.push_back(local);
  }
  return info;
}

}  // namespace launch
