#include "launch/app/log_gathering.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/gathered_files.hpp"
#include "launch/io/log.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {

LogGathering::LogGathering(std::string folder, const HeadPlan& plan) : folder_(std::move(folder)) {
  for (const HeadNode& node : plan.nodes) hosts_.push_back({node.host});
}

void LogGathering::store(int node, const NodeFile& file) {
  Host& host = hosts_[static_cast<std::size_t>(node)];
  if (folder_.empty() || !host.fault.empty()) return;
  if (file.first) ++host.files;
  if (!file.fault.empty()) {
    host.fault = fmt::format("{} cannot be read there: {}", file.name, file.fault);
    return;
  }
  const Status written = write_piece(fmt::format("{}/{}/{}", folder_, host.name, file.name), file.bytes, file.first);
  if (!written) host.fault = fmt::format("{} cannot be written here: {}", file.name, written.error().message);
}

void LogGathering::end(int node) { hosts_[static_cast<std::size_t>(node)].ended = true; }

bool LogGathering::is_complete(int node) const { return hosts_[static_cast<std::size_t>(node)].fault.empty(); }

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
