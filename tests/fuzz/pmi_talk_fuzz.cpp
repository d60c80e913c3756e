// Whatever a PMI server answers, the talk ends with an error of one line, or tells a port and a host; the map of ranks
// that it gives is refused, or has each rank at one place.
#include "launch/core/base/text.hpp"
#include "launch/core/cluster/pmi_talk.hpp"

#include <cstdlib>

namespace {

void check_map(std::string_view map) {
  constexpr int tasks = 5;
  int places = 0;
  for (int task = 0; task < tasks; ++task) {
    const auto place = launch::place_by_map(map, task, tasks);
    if (!place) continue;
    ++places;
    if (place->local_task < 0 || place->local_task >= place->local_tasks || place->node.value >= place->nodes)
      std::abort();
  }
  if (places != 0 && places != tasks) std::abort();
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
