#include "launch/app/control_watch.hpp"

#include "launch/app/job_doors.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/control/log_screen.hpp"
#include "launch/core/control/top_screen.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/host.hpp"
#include "launch/io/live_page.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_reads = 500ms;
constexpr int most_tries = 3;  // of a step that not all nodes have answered

// Asks for one step of the logs until all nodes have answered it.
class LogSteps {
 public:
  LogSteps(const ControlCommand& command, const std::vector<std::string>& doors)
      : command_(command), doors_(doors), request_(command.request) {
    request_.reader = static_cast<std::int64_t>(random_seed() >> 1U);
    request_.ends = !command.follow;
    request_.step = -1;
  }

  // False: the job has ended, or its output cannot be shown.
  bool next() {
    ++request_.step;
    more_ = false;
    std::set<int> heard;
    for (int tries = 0; tries < most_tries; ++tries) {
      const auto nodes = ask_job_at(doors_, request_);
      if (!nodes && nodes.error().code != ErrorCode::timeout) return false;
      if (!nodes) continue;
      const std::size_t before = heard.size();
      if (!show(*nodes, heard)) return false;
      if (heard.size() == nodes->size() || (tries > 0 && heard.size() == before)) break;
    }
    return true;
  }

  bool more() const { return more_; }
  bool any() const { return any_; }

 private:
  // What was shown already is not shown again.
  bool show(const std::vector<NodeReport>& nodes, std::set<int>& heard) {
    Screen fresh;
    for (const NodeReport& node : nodes) {
      if (!node.fault.empty()) tell(node);
      if (!node.fault.empty() || !heard.insert(node.node_rank).second) continue;
      any_ = true;
      more_ = more_ || node.more;
      fresh.nodes.push_back(node);
    }
    return write_all(STDOUT_FILENO, text_of(fresh));
  }

  std::string text_of(const Screen& screen) const {
    if (!command_.json) return log_screen(screen);
    std::string lines;
    for (const NodeReport& node : screen.nodes)
      if (!node.workers.empty()) lines += to_json(node) + '\n';
    return lines;
  }

  void tell(const NodeReport& node) {
    if (told_.insert(node.fault).second)
      write_all(STDERR_FILENO, fmt::format("launch-ctl: {}: {}\n", title_of(node), safe_text(node.fault, 300)));
  }

  const ControlCommand& command_;
  const std::vector<std::string>& doors_;
  ControlRequest request_;
  std::set<std::string> told_;
  bool more_ = false;
  bool any_ = false;
};

}  // namespace

int refuse(const Error& error) {
  write_all(STDERR_FILENO, fmt::format("launch-ctl: {}\n", error.message));
  return exit_code(error.code);
}

int read_job_logs(const ControlCommand& command, const std::vector<std::string>& doors) {
  LogSteps steps(command, doors);
  while (steps.next()) {
    if (steps.more()) continue;
    if (!command.follow) break;
    if (!is_read_for(STDOUT_FILENO, between_reads)) break;
  }
  return steps.any() ? 0 : 1;
}

int watch_job(const ControlCommand& command, const std::vector<std::string>& doors) {
  auto opened = LivePage::open();
  if (!opened) return refuse(opened.error());
  const std::unique_ptr<LivePage> page = *std::move(opened);
  const Duration interval = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(command.interval_s));
  std::vector<NodeReport> known;  // stays while the job is too busy to answer
  while (true) {
    const auto nodes = ask_job_at(doors, command.request);
    if (!nodes && nodes.error().code != ErrorCode::timeout) return 0;  // the job has ended
    if (nodes) known = *nodes;
    Screen screen;
    do {
      const LivePage::Size size = page->size();
      screen = {known, std::max<std::size_t>(size.columns, 2) - 1, size.rows};
    } while (page->show(top_screen(screen)) && page->wait(interval) == LivePage::Event::resized);
    if (page->ended()) return 0;
  }
}

}  // namespace launch
