#include "launch/io/flight_files.hpp"

#include "launch/core/verdict/flight_record.hpp"
#include "launch/io/files.hpp"

#include <optional>

namespace launch {
namespace {

std::optional<std::int64_t> read_record(const FlightFiles& files, int rank) {
  for (const std::string& path : flight_record_paths(files.env, GlobalRank(rank)))
    if (was_written_since(path, files.since)) return collectives_begun(read_file(path, flight_record_size));
  return std::nullopt;
}

}  // namespace

std::vector<RankGroup> with_records(const FlightFiles& files, const std::vector<RankGroup>& states, GlobalRank also) {
  std::vector<int> ranks;
  if (also.known()) ranks.push_back(also.value);
  for (const RankGroup& group : states) ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  std::map<int, std::int64_t> begun_by_rank;
  for (const int rank : ranks)
    if (const auto begun = read_record(files, rank)) begun_by_rank[rank] = *begun;
  return with_collectives(states, begun_by_rank);
}

}  // namespace launch
