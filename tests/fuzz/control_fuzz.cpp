// Whatever text comes as a request to a job or as the answer of its nodes, it is refused with one line, or is the same
// when it is written and read again; and no screen that is made of it holds anything that a terminal would obey.
#include "launch/core/control/control_completion.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/hang_report.hpp"
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

void require_harmless(const std::string& text) { require(std::none_of(text.begin(), text.end(), is_obeyed)); }

// What node 0 makes of the answers when it asks whether the job hangs, and what a shell completes from them.
void look_for_a_hang(const std::vector<launch::NodeReport>& nodes) {
  using namespace launch;
  require(!have_moved(nodes, nodes));
  for (const NodeQuiet& node : quiet_of(nodes)) require(!node.quiet || node.quiet->time >= Duration::zero());
  for (const std::string& line : hang_lines(nodes)) {
    require_harmless(line);
    require(line.find('\n') == std::string::npos);
  }
  require_harmless(completed_jobs(nodes));
  require_harmless(completed_nodes(nodes));
}

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
    require_harmless(json);
    require_harmless(asker_text(*request));
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
    require_harmless(draw(screen));
  }
  for (const std::string& word : {std::string(text.substr(0, 20)), std::string("0")}) {
    const auto node = find_node(screen.nodes, word);
    require(node || node.error().code == ErrorCode::usage);
    if (!node) require_harmless(node.error().message);
  }
  look_for_a_hang(screen.nodes);
  return 0;
}
