#include "launch/app/log_gathering.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/gathered_files.hpp"
#include "launch/io/log.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr Duration most_for_a_piece = std::chrono::minutes(2);  // before its host gets no more written
constexpr const char* no_answer = "the file system here does not answer";

}  // namespace

LogGathering::LogGathering(asio::any_io_executor executor, std::string folder, const HeadPlan& plan,
                           std::function<void()> on_less)
    : executor_(std::move(executor)),
      folder_(std::move(folder)),
      on_less_(std::move(on_less)),
      disk_(executor_),
      empty_(executor_) {
  for (const HeadNode& node : plan.nodes) hosts_.push_back({node.host});
}

void LogGathering::store(int node, NodeFile file) {
  Host& host = at(node);
  if (folder_.empty() || !host.fault.empty()) return;
  if (file.first) ++host.files;
  if (!file.fault.empty()) {
    host.fault = fmt::format("{} cannot be read there: {}", file.name, file.fault);
    return;
  }
  const std::size_t size = file.bytes.size() + 1;  // an empty file is written, too
  host.held += size;
  held_ += size;
  run_in_background(executor_, write(node, std::move(file)));
}

asio::awaitable<void> LogGathering::write(int node, NodeFile file) {
  Host& host = at(node);
  const std::size_t size = file.bytes.size() + 1;
  const std::string name = file.name;
  auto work = [path = fmt::format("{}/{}/{}", folder_, host.name, name), file = std::move(file)] {
    return write_piece(path, file.bytes, file.first);
  };
  auto writing = disk_.run_until(later(now(), most_for_a_piece), std::move(work));
  const auto written = co_await std::move(writing);
  host.held -= size;
  held_ -= size;
  if (!written && host.fault.empty()) host.fault = no_answer;
  if (written && !*written && host.fault.empty())
    host.fault = fmt::format("{} cannot be written here: {}", name, written->error().message);
  if (held_ == 0) empty_.cancel();
  on_less_();
}

asio::awaitable<void> LogGathering::drained(Duration patience) {
  while (held_ > 0) {
    const std::size_t before = held_;
    empty_.expires_at(to_steady(later(now(), patience)));
    (void)co_await empty_.async_wait(as_values);
    if (held_ == before) break;
  }
  for (Host& host : hosts_)
    if (host.held > 0 && host.fault.empty()) host.fault = no_answer;
}

void LogGathering::end(int node) { at(node).ended = true; }

std::vector<HostProblem> LogGathering::problems() const {
  std::vector<HostProblem> problems;
  for (const Host& host : hosts_) {
    if (!host.fault.empty()) problems.push_back({host.name, "not all logs were gathered: " + host.fault, 1});
    if (host.fault.empty() && host.files > 0 && !host.ended)
      problems.push_back({host.name, "not all logs were gathered: the connection has ended", 1});
    if (host.fault.empty() && host.files == 0) problems.push_back({host.name, "no logs were gathered", 1});
  }
  return problems;
}

void LogGathering::tell() const {
  if (folder_.empty()) return;
  const auto faults = problems();
  for (const std::string& line : fold_problems(faults)) log_warning(line);
  if (faults.size() < hosts_.size())
    log_info(fmt::format("the logs of {} are in {}", counted(std::ssize(hosts_) - std::ssize(faults), "host"),
                         shown(folder_)));
}

}  // namespace launch
