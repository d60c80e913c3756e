#include "launch/io/port_holder.hpp"

#include "launch/io/files.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace launch {
namespace {

namespace fs = std::filesystem;

// Inodes of the listening sockets in one of procfs' tables: "sl local rem st tx:rx tr:tm retr uid timeout inode".
void add_listeners(const std::string& table, std::uint16_t port, std::set<std::string>& inodes) {
  std::istringstream lines(read_file(table, std::size_t{16} << 20));
  const std::string wanted = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    if (state == "0A" && local.ends_with(wanted)) inodes.insert(inode);
  }
}

bool holds_one_of(const fs::path& process, const std::set<std::string>& inodes) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.starts_with("socket:[") && inodes.contains(target.substr(8, target.size() - 9))) return true;
  }
  return false;
}

std::string command_of(const fs::path& process) {
  std::string command = read_file((process / "cmdline").string(), 200);
  std::replace(command.begin(), command.end(), '\0', ' ');
  while (!command.empty() && command.back() == ' ') command.pop_back();
  return command;
}

}  // namespace

std::string find_port_holder(std::uint16_t port, const std::string& proc) {
  std::set<std::string> inodes;
  add_listeners(proc + "/net/tcp", port, inodes);
  add_listeners(proc + "/net/tcp6", port, inodes);
  if (inodes.empty()) return {};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(proc, error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || !holds_one_of(entry.path(), inodes)) continue;
    return fmt::format("pid {} ({})", name, command_of(entry.path()));
  }
  return {};
}

}  // namespace launch
