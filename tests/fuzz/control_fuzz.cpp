// Whatever text comes as a request to a job or as the answer of its nodes, it is refused with one line, or is the same
// when it is written and read again; and no screen that is made of it holds anything that a terminal would obey.
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/log_screen.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/control/status_screen.hpp"
#include "launch/core/control/top_screen.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_obeyed(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == '\x7f'; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = parse_request(text);
  if (request) {
    const std::string json = to_json(*request);
    require(json.find('\n') == std::string::npos);
    const auto again = parse_request(json);
    require(again && *again == *request);
    require(std::none_of(json.begin(), json.end(), is_obeyed));
    const std::string asker = asker_text(*request);
    require(std::none_of(asker.begin(), asker.end(), is_obeyed));
  } else {
    require(request.error().message.find('\n') == std::string::npos);
  }
  Screen screen;
  screen.nodes = parse_node_reports(text);
  for (const NodeReport& node : screen.nodes) {
    const auto again = parse_node_report(to_json(node));
    require(again && to_json(*again) == to_json(node));
  }
  for (const auto& draw : {jobs_screen, status_screen, stacks_screen, done_screen, top_screen, log_screen}) {
    const std::string page = draw(screen);
    require(std::none_of(page.begin(), page.end(), is_obeyed));
  }
  return 0;
}
