// A file as PALS writes it for its ranks, of version 1, with the tables at odd places.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace launch::starts {

// `ranks`: the number on its node, and the node, of each.
inline std::string apinfo(const std::vector<std::string>& nodes, const std::vector<std::pair<int, int>>& ranks) {
  constexpr std::size_t ranks_from = 200, rank_size = 16, node_size = 72;
  const std::size_t nodes_from = ranks_from + ranks.size() * rank_size;
  std::string bytes(nodes_from + nodes.size() * node_size, '\0');
  const auto put = [&bytes](std::size_t at, auto number) { std::memcpy(bytes.data() + at, &number, sizeof number); };
  const auto table = [&put](std::size_t at, std::uint64_t size, std::uint64_t offset, std::size_t count) {
    put(at, size);
    put(at + 8, offset);
    put(at + 16, static_cast<std::int32_t>(count));
  };
  put(0, std::int32_t{1});
  put(8, static_cast<std::uint64_t>(bytes.size()));
  table(64, rank_size, ranks_from, ranks.size());
  table(88, node_size, nodes_from, nodes.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    put(ranks_from + i * rank_size, std::int32_t{ranks[i].first});
    put(ranks_from + i * rank_size + 8, std::int32_t{ranks[i].second});
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    std::memcpy(bytes.data() + nodes_from + i * node_size + 4, nodes[i].data(), nodes[i].size());
  return bytes;
}

}  // namespace launch::starts
