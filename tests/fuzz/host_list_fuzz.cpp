// Any text is refused with one line, or becomes names that are a list again.
#include "launch/core/cluster/host_list.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const auto names = parse_host_list({reinterpret_cast<const char*>(data), size});
  if (!names) {
    if (names.error().message.empty() || names.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (names->empty() || names->size() > 65'536) std::abort();
  for (const std::string& name : *names)
    if (const auto again = parse_host_list(name); !again || *again != std::vector<std::string>{name}) std::abort();
  return 0;
}
