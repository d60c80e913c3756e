#include "launch/io/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace launch {

std::string read_file(const std::string& path, std::size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return {};
  std::string text;
  std::array<char, 4096> chunk;
  while (text.size() < limit) {
    const ssize_t got = ::read(fd.get(), chunk.data(), std::min(chunk.size(), limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::size_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) : 0;
}

Result<std::string> read_whole(const std::string& path, std::size_t limit) {
  const Fd opened(path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (path != "-" && !opened.valid()) return Error{ErrorCode::usage, std::strerror(errno)};
  const int fd = path == "-" ? STDIN_FILENO : opened.get();
  std::string text;
  std::array<char, 65536> bytes{};
  for (;;) {
    const ssize_t size = ::read(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {  // somebody who shares our input has made it so
      pollfd more{fd, POLLIN, 0};
      ::poll(&more, 1, -1);
      continue;
    }
    if (size < 0) return Error{ErrorCode::usage, std::strerror(errno)};
    if (size == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(size));
    if (text.size() > limit) return Error{ErrorCode::usage, fmt::format("it has more than {} bytes", limit)};
  }
}

bool was_written_since(const std::string& path, WallTime since) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const auto changed = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
  return changed >= since.time_since_epoch();
}

std::string read_tail(const std::string& path, std::size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return {};
  const std::size_t size = file_size(path);
  std::string text(std::min(size, limit), '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

bool is_in_memory(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

bool is_on_full_disk(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0 || info.f_blocks == 0) return false;
  return (::geteuid() == 0 ? info.f_bfree : info.f_bavail) == 0;
}

bool is_same_file(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool is_link(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

bool is_on_network(const std::string& path) {
  // f_type of nfs, lustre, gpfs, ceph, smb and smb2, cifs, beegfs, afs, orangefs, 9p, fuse, coda.
  constexpr std::uint32_t served[] = {0x6969,     0x0BD00BD0, 0x47504653, 0x00C36400, 0x517B,
                                      0xFE534D42, 0xFF534D42, 0x19830326, 0x5346414F, 0x20030528,
                                      0x01021997, 0x65735546, 0x73757245};
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(path, error);
  struct statfs info {};
  while (::statfs(place.c_str(), &info) != 0) {
    if (!place.has_parent_path() || place == place.parent_path()) return false;
    place = place.parent_path();
  }
  return std::find(std::begin(served), std::end(served), static_cast<std::uint32_t>(info.f_type)) != std::end(served);
}

Status write_file(const std::string& path, const std::string& text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
  if (fd.valid() && write_all(fd.get(), text)) return {};
  return Error{ErrorCode::system, std::strerror(errno)};
}

namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Another program that replaces the same file may have put its own file there.
bool is_still_at(const std::string& path, const Fd& file) {
  struct stat there {
  }, ours{};
  if (::lstat(path.c_str(), &there) != 0 || ::fstat(file.get(), &ours) != 0) return false;
  return there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

}  // namespace

Status may_replace(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  return Error{ErrorCode::usage, fmt::format("it is {}; only a regular file can be replaced", kind_of(info.st_mode))};
}

Status may_write(const std::string& path) {
  struct stat info {};
  const bool is_there = ::stat(path.c_str(), &info) == 0;
  if (is_there && S_ISDIR(info.st_mode)) return Error{ErrorCode::usage, "it is a directory"};
  const std::string folder = std::filesystem::path(path).parent_path();
  const std::string place = folder.empty() ? "." : folder + "/";  // a file is none
  const bool may = is_there ? ::access(path.c_str(), W_OK) == 0 : ::access(place.c_str(), W_OK | X_OK) == 0;
  if (may) return {};
  return Error{ErrorCode::usage, std::strerror(errno)};
}

Status remove_old(const std::string& path) {
  struct stat info {};
  const bool is_ours = ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  if (!is_ours || ::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return Error{ErrorCode::system, std::strerror(errno)};
}

Status replace_file(const std::string& path, const std::string& text) {
  if (Status may = may_replace(path); !may) return may;
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());  // a program that was killed has left it
  const Fd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd.valid() && errno == EEXIST)
    return Error{ErrorCode::system, fmt::format("{} is in the way and cannot be removed", unfinished)};
  if (!fd.valid()) return Error{ErrorCode::system, std::strerror(errno)};
  Status written;
  if (!write_all(fd.get(), text)) written = Error{ErrorCode::system, std::strerror(errno)};
  if (!is_still_at(unfinished, fd)) return Error{ErrorCode::system, "another program writes this file, too"};
  if (written && ::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  if (written) written = Error{ErrorCode::system, std::strerror(errno)};
  ::unlink(unfinished.c_str());
  return written;
}

namespace {

Result<Fd> open_for_worker(const std::string& path, int flags, std::string_view what) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!fd.valid())
    return Error{ErrorCode::system,
                 fmt::format("cannot open {} for a worker's {}: {}", path, what, why_not_opened(errno))};
  return fd;
}

}  // namespace

Result<Fd> open_output(const std::string& path) {
  return open_for_worker(path, O_WRONLY | O_CREAT | O_TRUNC, "output");
}

Result<Fd> open_log(const std::string& path) {
  return open_for_worker(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, "output");
}

Result<Fd> open_input(const std::string& path) { return open_for_worker(path, O_RDONLY, "input"); }

std::string why_not_opened(int error) {
  const bool limit = error == EMFILE || error == ENFILE;
  return std::string(std::strerror(error)) + (limit ? "; raise the limit of open files (ulimit -n)" : "");
}

}  // namespace launch
