#include "launch/core/verdict/flight_record.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view begun_words = "has begun ";

// The key's opcode, BINUNICODE, and its length come first.
constexpr std::string_view last_begun{"X\x18\0\0\0last_enqueued_collective", 29};

constexpr char put = 'q', long_put = 'r';  // behind a text: its number in the pickle's memory, of 1 or 4 bytes
constexpr char one_byte = 'K', two_bytes = 'M', four_bytes = 'J', long_number = '\x8a';

// Two's complement, unless all numbers of that size are above 0.
std::int64_t little_endian(std::string_view bytes, bool is_signed) {
  std::uint64_t number = is_signed && (bytes.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> number_at(std::string_view rest) {
  if (rest.size() < 2) return std::nullopt;
  const char code = rest[0];
  rest.remove_prefix(1);
  std::size_t size = 0;
  if (code == one_byte) size = 1;
  if (code == two_bytes) size = 2;
  if (code == four_bytes) size = 4;
  if (code == long_number) {
    size = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
  }
  if (size == 0 || size > 8 || rest.size() < size) return std::nullopt;
  return little_endian(rest.substr(0, size), code == four_bytes || code == long_number);
}

std::string_view without_put(std::string_view rest) {
  if (!rest.empty() && rest[0] == put) return rest.substr(std::min<std::size_t>(2, rest.size()));
  if (!rest.empty() && rest[0] == long_put) return rest.substr(std::min<std::size_t>(5, rest.size()));
  return rest;
}

}  // namespace

std::vector<std::string> flight_record_paths(const Environment& env, GlobalRank rank) {
  for (const char* name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"})
    if (const auto prefix = env.get(name); prefix && !prefix->empty())
      return {fmt::format("{}{}", *prefix, rank.value)};
  const std::string cache = env.get("XDG_CACHE_HOME").value_or(env.get("HOME").value_or("/tmp") + "/.cache");
  return {fmt::format("{}/torch/comm_lib_trace_rank_{}", cache, rank.value),
          fmt::format("/tmp/nccl_trace_rank_{}", rank.value)};
}

std::optional<std::int64_t> collectives_begun(std::string_view record) {
  const std::size_t at = record.find(last_begun);
  if (at == record.npos) return std::nullopt;
  const auto begun = number_at(without_put(record.substr(at + last_begun.size())));
  return begun && *begun >= 0 ? begun : std::nullopt;
}

std::optional<std::int64_t> collectives_in(std::string_view words) {
  if (!words.starts_with(begun_words)) return std::nullopt;
  words.remove_prefix(begun_words.size());
  return parse_int(words.substr(0, words.find(' ')));
}

std::vector<RankGroup> with_collectives(std::vector<RankGroup> doings,
                                        const std::map<int, std::int64_t>& begun_by_rank) {
  for (RankGroup& group : doings) std::erase_if(group.ranks, [&](int rank) { return begun_by_rank.contains(rank); });
  std::erase_if(doings, [](const RankGroup& group) { return group.ranks.empty(); });
  std::map<std::int64_t, std::vector<int>> ranks_by_count;
  for (const auto& [rank, begun] : begun_by_rank) ranks_by_count[begun].push_back(rank);
  for (auto& [begun, ranks] : ranks_by_count)
    doings.push_back({std::string(begun_words) + counted(begun, "collective"), std::move(ranks)});
  return doings;
}

}  // namespace launch
