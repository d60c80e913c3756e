#include "launch/io/port_holder.hpp"

#include "launch/io/files.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view listening = "0A", ended = "06";  // TCP_LISTEN, TCP_TIME_WAIT

struct Socket {
  std::string state, inode;
};

// Adds those at the port, from one of procfs' tables: "sl local rem st tx:rx tr:tm retr uid timeout inode".
void add_sockets(const std::string& table, std::uint16_t port, std::vector<Socket>& sockets) {
  std::istringstream lines(read_file(table, std::size_t{16} << 20));
  const std::string wanted = fmt::format(":{:04X}", port);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    if (local.ends_with(wanted)) sockets.push_back({state, inode});
  }
}

std::vector<Socket> sockets_at(std::uint16_t port, const std::string& proc) {
  std::vector<Socket> sockets;
  add_sockets(proc + "/net/tcp", port, sockets);
  add_sockets(proc + "/net/tcp6", port, sockets);
  return sockets;
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
  for (const Socket& socket : sockets_at(port, proc))
    if (socket.state == listening) inodes.insert(socket.inode);
  if (inodes.empty()) return {};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(proc, error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || !holds_one_of(entry.path(), inodes)) continue;
    return fmt::format("pid {} ({})", name, command_of(entry.path()));
  }
  return {};
}

bool is_port_cooling(std::uint16_t port, const std::string& proc) {
  const std::vector<Socket> sockets = sockets_at(port, proc);
  return !sockets.empty() &&
         std::all_of(sockets.begin(), sockets.end(), [](const Socket& socket) { return socket.state == ended; });
}

}  // namespace launch
