#include "launch/app/control_watch.hpp"

#include "launch/app/job_doors.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/control/log_screen.hpp"
#include "launch/core/control/top_screen.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/host.hpp"
#include "launch/io/live_page.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_reads = 500ms;
constexpr Duration patience_with_job = 10s;
constexpr int most_tries = 3;  // of a step that not all nodes have answered

// Asks for one step of the logs until all nodes have answered it.
class LogSteps {
 public:
  // `age_s`: only what was written since so long ago.
  LogSteps(const ControlCommand& command, const std::vector<std::string>& doors, std::optional<double> age_s)
      : command_(command), doors_(doors), request_(command.request), age_s_(age_s) {
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
      if (age_s_) request_.since_s = *age_s_ + seconds_of(now() - began_);
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
    tell(nodes);
    for (const NodeReport& node : nodes) {
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

  // The lines of JSON have the notes.
  void tell(std::vector<NodeReport> nodes) {
    if (command_.json)
      for (NodeReport& node : nodes) node.note.clear();
    (void)write_all(STDERR_FILENO, words_beside_logs(nodes, told_));
  }

  const ControlCommand& command_;
  const std::vector<std::string>& doors_;
  ControlRequest request_;
  std::optional<double> age_s_;
  const Time began_ = now();
  WordsTold told_;
  bool more_ = false;
  bool any_ = false;
};

}  // namespace

int refuse(const Error& error) {
  write_all(STDERR_FILENO, fmt::format("launch-ctl: {}\n", error.message));
  return exit_code(error.code);
}

namespace {

Result<std::optional<double>> age_asked(const ControlCommand& command) {
  if (!command.since) return std::optional<double>();
  const auto age = age_of(*command.since, {unix_time(), local_time(), unix_times_of});
  if (!age) return age.error();
  return std::optional(*age);
}

bool show_known(LivePage& page, const std::vector<NodeReport>& known) {
  const LivePage::Size size = page.size();
  return page.show(top_screen({known, std::max<std::size_t>(size.columns, 2) - 1, size.rows}));
}

// False: the user has seen enough.
bool await_answer(LivePage& page, const std::vector<NodeReport>& known, int fd) {
  LivePage::Event event = page.wait(patience_with_job, fd);
  while (event == LivePage::Event::resized && show_known(page, known)) event = page.wait(patience_with_job, fd);
  return event == LivePage::Event::readable || event == LivePage::Event::time;
}

}  // namespace

int read_job_logs(const ControlCommand& command, const std::vector<std::string>& doors) {
  const auto age_s = age_asked(command);
  if (!age_s) return refuse(age_s.error());
  LogSteps steps(command, doors, *age_s);
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
  const Duration interval = of_seconds(command.interval_s);
  std::vector<NodeReport> known;  // stays while the job is too busy to answer
  const auto await = [&page, &known](int fd) { return await_answer(*page, known, fd); };
  while (true) {
    const auto nodes = ask_job_at(doors, command.request, await);
    if (!nodes && nodes.error().code != ErrorCode::timeout) return 0;  // the job has ended, or the user has seen enough
    if (nodes) known = *nodes;
    while (show_known(*page, known) && page->wait(interval) == LivePage::Event::resized) continue;
    if (page->ended()) return 0;
  }
}

}  // namespace launch
