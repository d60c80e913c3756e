// Whatever stands in the file of PALS_APINFO, it is refused in one line, or has a name of a host for each rank.
#include "launch/core/cluster/apinfo.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const auto info = parse_apinfo({reinterpret_cast<const char*>(data), size});
  if (!info) {
    if (info.error().message.empty() || info.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (info->hosts.empty() || info->hosts.size() != info->local_ranks.size()) std::abort();
  for (const std::string& host : info->hosts)
    if (host.empty() || host.size() > 63) std::abort();
  for (const int local : info->local_ranks)
    if (local < 0) std::abort();
  return 0;
}
