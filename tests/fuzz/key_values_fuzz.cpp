// Any text is refused with one line, or becomes a map that survives writing and reading.
#include "launch/core/options/key_values.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const auto first = parse_key_values({reinterpret_cast<const char*>(data), size});
  if (!first) {
    if (first.error().message.empty() || first.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  std::string written;
  for (const auto& [key, value] : *first) {
    if (key.empty() || value.empty()) std::abort();
    written += (written.empty() ? "" : ",") + key + "=" + value;
  }
  const auto second = parse_key_values(written);
  if (!second || *second != *first) std::abort();
  return 0;
}
