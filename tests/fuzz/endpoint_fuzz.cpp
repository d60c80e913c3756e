// Any text is refused with one line, or becomes an endpoint that survives writing and reading.
#include "launch/core/job/endpoint.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = parse_endpoint(text);
  if (!first) {
    if (first.error().message.empty() || first.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (first->host.empty()) std::abort();
  const auto second = parse_endpoint(to_text(Endpoint{first->host, first->port.value_or(0)}));
  if (!second || second->host != first->host || second->port != first->port.value_or(0)) std::abort();
  static_cast<void>(is_loopback(text));
  return 0;
}
