#include "launch/core/host/temp_folders.hpp"

namespace launch {

std::vector<std::string> temp_folders(const Environment& env, bool in_memory) {
  std::vector<std::string> places;
  for (const char* name : {"TMPDIR", "TEMP", "TMP"})
    if (auto place = env.get(name); place && !place->empty()) places.push_back(*std::move(place));
  if (in_memory) places.emplace_back("/dev/shm");
  for (const char* place : {"/tmp", "/var/tmp", "/usr/tmp", "."}) places.emplace_back(place);
  return places;
}

}  // namespace launch
