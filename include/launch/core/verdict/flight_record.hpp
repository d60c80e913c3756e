// What PyTorch's flight recorder leaves in a file when a collective has timed out: how many collectives this rank has
// begun. A rank that has begun fewer than the others is the one that they waited for. Pure; the bytes come from
// outside, and any may come. The form was seen in PyTorch 2.13 (a pickle of protocol 2); the rest of it is not read.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// Where the recorder of this rank writes, if the worker has these variables; the first file that is there counts.
std::vector<std::string> flight_record_paths(const Environment& env, GlobalRank rank);

// How much of a file is enough: what counts comes before the entries of the single collectives.
inline constexpr std::size_t flight_record_size = std::size_t{4} << 20;

// Collectives of the first process group that is in the record. nullopt: it tells of none.
std::optional<std::int64_t> collectives_begun(std::string_view record);

// "has begun 41 collectives", in place of what these ranks did otherwise.
std::vector<RankGroup> with_collectives(std::vector<RankGroup> doings,
                                        const std::map<int, std::int64_t>& begun_by_rank);

// The number in those words; nullopt: they are others.
std::optional<std::int64_t> collectives_in(std::string_view words);

}  // namespace launch
