#include "launch/io/process_list.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/host/process_stat.hpp"
#include "launch/io/files.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most_seen = 65'536;
constexpr std::size_t longest_seen_status = 8192;
constexpr std::size_t longest_seen_command = 256;
constexpr std::size_t longest_seen_environment = std::size_t{1} << 20;
constexpr std::string_view run_id_variable = "TORCHELASTIC_RUN_ID=";

std::string network_of(const std::string& pid) {
  std::array<char, 64> text{};
  const ssize_t size = ::readlink(("/proc/" + pid + "/ns/net").c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
}

std::string run_id_of(const std::string& folder) {
  const std::string environment = read_file(folder + "/environ", longest_seen_environment);
  for (const std::string_view line : split(environment, '\0'))
    if (line.starts_with(run_id_variable)) return std::string(line.substr(run_id_variable.size()));
  return "";
}

std::optional<SeenProcess> see(int pid, const std::string& own_network) {
  const auto stat = stat_of(pid);
  if (!stat) return std::nullopt;
  const std::string folder = fmt::format("/proc/{}", pid);
  SeenProcess one;
  one.pid = pid;
  one.parent = stat->parent;
  one.name = stat->name;
  one.command = read_file(folder + "/cmdline", longest_seen_command);
  std::replace(one.command.begin(), one.command.end(), '\0', ' ');
  one.command = one.command.empty() ? one.name : std::string(trim(one.command));
  const auto status = parse_process_status(read_file(folder + "/status", longest_seen_status));
  one.mine =
      status && status->real_uid == ::getuid() && stat->state != 'Z' && network_of(std::to_string(pid)) == own_network;
  if (one.mine) one.run_id = run_id_of(folder);
  return one;
}

}  // namespace

std::vector<SeenProcess> seen_processes(const std::unordered_set<int>& on_gpus) {
  std::vector<SeenProcess> all;
  const std::string own_network = network_of("self");
  std::error_code error;
  std::filesystem::directory_iterator at("/proc", error);
  for (; !error && at != std::filesystem::directory_iterator() && all.size() < most_seen; at.increment(error)) {
    const auto pid = parse_int(at->path().filename().string());
    if (!pid || *pid <= 0) continue;
    auto one = see(*pid, own_network);
    if (!one) continue;
    one->on_gpu = on_gpus.contains(*pid);
    all.push_back(*std::move(one));
  }
  return all;
}

}  // namespace launch
