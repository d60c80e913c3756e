// Any bytes are refused with one line, or become a state that survives writing and reading.
#include "launch/core/base/base64.hpp"
#include "launch/core/c10d/rendezvous_pickle.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(read_state(bytes));
  const auto text = decode_base64(bytes);
  if (text && encode_base64(*text) != bytes) std::abort();
  const auto first = unpickle_state(bytes);
  if (!first) {
    if (first.error().message.empty() || first.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const auto second = read_state(write_state(*first));
  if (!second || !(*second == *first)) std::abort();
  return 0;
}
