#include "launch/io/remote_place.hpp"

#include "launch/io/files.hpp"
#include "launch/io/interfaces.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace launch {
Status enter_folder(const std::string& folder, int umask) {
  ::umask(static_cast<mode_t>(umask));
  if (::chdir(folder.c_str()) == 0) return {};
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  return Error{ErrorCode::usage,
               missing ? fmt::format("the folder {} is not there; start this in one that all hosts share", folder)
                       : fmt::format("cannot work in {}: {}", folder, std::strerror(errno))};
}

std::string current_folder(const std::string& named) {
  struct stat here {
  }, there{};
  const bool same = named.starts_with('/') && ::stat(".", &here) == 0 && ::stat(named.c_str(), &there) == 0 &&
                    here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  std::array<char, PATH_MAX> path{};
  if (same) return named;
  return ::getcwd(path.data(), path.size()) != nullptr ? path.data() : "";
}

int current_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return static_cast<int>(mask);
}

std::string boot_id() {
  std::string text = read_file("/proc/sys/kernel/random/boot_id", 64);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string own_hostname() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size()) == 0 ? name.data() : "";
}

bool has_input() {
  struct stat info {};
  if (::fstat(STDIN_FILENO, &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode) || S_ISSOCK(info.st_mode);
}

std::string machine() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

std::string self_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "/proc/self/exe";
}

std::vector<NamedAddress> own_addresses() {
  std::vector<NamedAddress> all;
  for (const InterfaceAddress& one : interface_addresses())
    if (one.up && !one.loopback && !is_link_local(one.address)) all.push_back({one.interface, one.address.to_string()});
  return all;
}

std::string interface_towards(const std::string& address, const std::vector<NamedAddress>& own_ones) {
  boost::asio::io_context context(1);
  boost::system::error_code error;
  using boost::asio::ip::udp;
  const auto there = boost::asio::ip::make_address(address, error);
  udp::socket socket(context);
  // It sends nothing: the kernel chooses the way.
  if (!error) socket.connect(udp::endpoint(there, 9), error);
  const std::string own = error ? "" : socket.local_endpoint(error).address().to_string();
  for (const NamedAddress& one : own_ones)
    if (one.address == own) return one.interface;
  return "";
}

MemoryFile::MemoryFile() : fd_(static_cast<int>(::syscall(SYS_memfd_create, "launch-report", 1U))) {}  // close-on-exec

std::string MemoryFile::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get()); }

std::string MemoryFile::text(std::size_t most) const {
  struct stat info {};
  const bool known = ::fstat(fd_.get(), &info) == 0 && info.st_size > 0;
  std::string text(known ? std::min(most, static_cast<std::size_t>(info.st_size)) : 0, '\0');
  const ssize_t size = ::pread(fd_.get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string temp_folder() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

std::string make_private_folder(const std::string& name) {
  std::string path = std::filesystem::path(temp_folder()) / (name + "XXXXXX");
  return ::mkdtemp(path.data()) != nullptr ? path : "";
}

void end_with_input_only() { ::prctl(PR_SET_PDEATHSIG, 0); }

// A folder can be made on a full disk, too.
Status may_keep_files() {
  const std::string folder = make_private_folder("launch-try-");
  const Status written =
      folder.empty() ? Status(Error{ErrorCode::system, std::strerror(errno)}) : write_file(folder + "/try", "try");
  remove_folder(folder);
  if (written) return {};
  return Error{ErrorCode::system,
               fmt::format("the workers' output cannot be kept in {}: {}; make room there, or name another folder by "
                           "TMPDIR or --log-dir",
                           temp_folder(), written.error().message)};
}

void remove_folder(const std::string& folder) {
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
}

}  // namespace launch
