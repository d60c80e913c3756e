// Whatever a PMI server answers, the talk ends with an error of one line, or tells a port and a host; the map of ranks
// that it gives is refused, or counts each of them once.
#include "launch/core/base/text.hpp"
#include "launch/core/cluster/pmi_talk.hpp"

#include <cstdlib>
#include <set>

namespace {

void check_map(std::string_view map) {
  constexpr int tasks = 5;
  std::set<int> ranks;
  for (int task = 0; task < tasks; ++task) {
    const auto found = launch::place_by_map(map, task, tasks);
    if (!found) continue;
    const launch::TaskPlace& place = found->place;
    if (place.local_task < 0 || place.local_task >= place.local_tasks || place.node.value >= place.nodes) std::abort();
    if (found->rank < 0 || found->rank >= tasks || !ranks.insert(found->rank).second) std::abort();
  }
  if (!ranks.empty() && ranks.size() != tasks) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_map(text);
  PmiTalk talk(size % 2 == 0 ? std::optional<Reach>({"n1", {"10.0.0.1"}, 61'003}) : std::nullopt);
  for (const std::string_view line : split(text, '\n')) {
    if (talk.done()) break;
    if (talk.next().back() != '\n') std::abort();
    if (const Status taken = talk.take(line); !taken) {
      if (taken.error().message.empty() || taken.error().message.find('\n') != std::string::npos) std::abort();
      return 0;
    }
  }
  if (talk.done() && (talk.reach().port == 0 || choose_host(talk.reach(), {}).empty())) std::abort();
  if (talk.done()) check_map(talk.map());
  return 0;
}
