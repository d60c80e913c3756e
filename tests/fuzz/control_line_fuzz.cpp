// Any command line of launch-ctl is refused with one line, or becomes a text to print, or a request that a job
// understands as it was meant.
#include "launch/core/control/control_line.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace launch;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_obeyed(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

// Words end in a zero byte, as on a real command line.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = parse_control_line(words_of({reinterpret_cast<const char*>(data), size}));
  if (!parsed) {
    const std::string& message = parsed.error().message;
    require(parsed.error().code == ErrorCode::usage && !message.empty());
    require(std::none_of(message.begin(), message.end(), is_obeyed));
    return 0;
  }
  const auto* const command = std::get_if<ControlCommand>(&*parsed);
  if (command == nullptr) return 0;
  // Which node it is that leaves, app finds out.
  if (command->request.verb == ControlRequest::Verb::drain) return 0;
  const std::string json = to_json(command->request);
  if (json.size() > 4096) return 0;
  const auto again = parse_request(json);
  require(again.has_value());
  require(again->verb == command->request.verb && again->rank == command->request.rank);
  require(again->signal == command->request.signal && again->local_ranks == command->request.local_ranks);
  return 0;
}
