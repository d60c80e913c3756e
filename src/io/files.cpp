#include "launch/io/files.hpp"

#include "launch/core/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
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

std::string read_tail(const std::string& path, std::size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return {};
  const std::size_t size = file_size(path);
  std::string text(std::min(size, limit), '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
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

Error cannot_make(const std::string& path, int error = errno) {
  return Error{ErrorCode::system,
               fmt::format("cannot make the folder {} for the workers' files: {}; name one that can be written by "
                           "--log-dir or TMPDIR",
                           path, std::strerror(error))};
}

}  // namespace

Result<Fd> open_output(const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid())
    return Error{ErrorCode::system,
                 fmt::format("cannot open {} for a worker's output: {}", path, std::strerror(errno))};
  return fd;
}

Result<Fd> open_input(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid())
    return Error{ErrorCode::system, fmt::format("cannot open {} for a worker's input: {}", path, std::strerror(errno))};
  return fd;
}

namespace {

// A run id may hold any character and be of any length; a folder's name, with what follows the id, may not.
std::string as_file_name(std::string text) {
  constexpr std::string_view more = "_abXXXXXX";
  std::replace(text.begin(), text.end(), '/', '_');
  return std::string(beginning_of(text, NAME_MAX - more.size()));
}

// A new folder in `place`. One can be made on a full disk, too, so a file is tried, as Python's tempfile does.
Result<std::string> make_top(const std::string& place) {
  std::error_code error;
  std::string top = (std::filesystem::absolute(place, error).lexically_normal() / "torchelastic_XXXXXX").string();
  if (::mkdtemp(top.data()) == nullptr) return cannot_make(top);
  const std::string file = top + "/try";
  if (write_file(file, "try") && ::unlink(file.c_str()) == 0) return top;
  const int reason = errno;
  ::unlink(file.c_str());
  ::rmdir(top.c_str());
  return cannot_make(top, reason);
}

constexpr const char* latest_name = "latest";

}  // namespace

Result<ErrorFolder> ErrorFolder::create_temporary(const std::vector<std::string>& places, const std::string& run_id) {
  // The first place is the user's, where there is a choice: its fault is the one to tell.
  auto top = make_top(places.front());
  for (std::size_t i = 1; !top && i < places.size(); ++i)
    if (auto next = make_top(places[i])) top = std::move(next);
  if (!top) return top.error();
  auto folder = make(*top, run_id);
  if (folder) {
    folder->top_ = *std::move(top);
  } else {
    ::rmdir(top->c_str());
  }
  return folder;
}

Result<ErrorFolder> ErrorFolder::create(const std::string& place, const std::string& run_id) {
  auto folder = make(place, run_id);
  if (folder) folder->link_latest();
  return folder;
}

Result<ErrorFolder> ErrorFolder::make(const std::string& place, const std::string& run_id) {
  std::error_code error;
  // A worker may change its folder before it writes.
  std::string parent = std::filesystem::absolute(place, error).string();
  if (!error) std::filesystem::create_directories(parent, error);
  if (error) return cannot_make(place, error.value());
  while (parent.ends_with('/')) parent.pop_back();
  ErrorFolder folder;
  // mkdtemp makes six letters, torchrun eight.
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const auto process = static_cast<std::size_t>(::getpid());
  folder.run_ = fmt::format("{}/{}_{}{}XXXXXX", parent, as_file_name(run_id), letters[process % letters.size()],
                            letters[process / letters.size() % letters.size()]);
  if (::mkdtemp(folder.run_.data()) == nullptr) return cannot_make(std::exchange(folder.run_, {}));
  return folder;
}

Status ErrorFolder::begin_attempt(int nproc) {
  remove_empty_attempt();
  nproc_ = nproc;
  attempt_ = fmt::format("{}/attempt_{}", run_, attempts_++);
  if (::mkdir(attempt_.c_str(), 0777) != 0) return cannot_make(attempt_);
  for (int rank = 0; rank < nproc; ++rank) {
    const std::string path = fmt::format("{}/{}", attempt_, rank);
    if (::mkdir(path.c_str(), 0777) != 0) return cannot_make(path);
  }
  return {};
}

// Under a name of its own first, so that there is always one to follow. What is no link is the user's, and stays.
void ErrorFolder::link_latest() {
  const std::filesystem::path folder(run_);
  const std::string link = folder.parent_path() / latest_name;
  struct stat info {};
  if (::lstat(link.c_str(), &info) == 0 && !S_ISLNK(info.st_mode)) return;
  // The name of the folder may be as long as a name can be; its end is random.
  const std::string fresh =
      fmt::format("{}/.{}_{}", folder.parent_path().string(), latest_name, run_.substr(run_.size() - 8));
  if (::symlink(folder.filename().c_str(), fresh.c_str()) != 0) return;
  if (::rename(fresh.c_str(), link.c_str()) != 0) {
    ::unlink(fresh.c_str());
  } else {
    latest_ = link;
  }
}

// Unless it leads to another job's by now.
void ErrorFolder::unlink_latest() {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(latest_, error);
  if (!error && target == std::filesystem::path(run_).filename()) ::unlink(latest_.c_str());
}

ErrorFolder::ErrorFolder(ErrorFolder&& other) noexcept { *this = std::move(other); }

ErrorFolder& ErrorFolder::operator=(ErrorFolder&& other) noexcept {
  std::swap(top_, other.top_);
  std::swap(run_, other.run_);
  std::swap(latest_, other.latest_);
  std::swap(attempt_, other.attempt_);
  std::swap(attempts_, other.attempts_);
  std::swap(nproc_, other.nproc_);
  return *this;
}

void ErrorFolder::remove_empty_attempt() {
  if (attempt_.empty()) return;
  for (int rank = 0; rank < nproc_; ++rank) ::rmdir(fmt::format("{}/{}", attempt_, rank).c_str());
  ::rmdir(attempt_.c_str());
}

void ErrorFolder::abandon() {
  for (std::string* path : {&run_, &top_, &attempt_}) path->clear();
}

void ErrorFolder::remove_empty() {
  remove_empty_attempt();
  attempt_.clear();
  if (!run_.empty() && ::rmdir(run_.c_str()) == 0 && !latest_.empty()) unlink_latest();
  if (!top_.empty()) ::rmdir(top_.c_str());
  for (std::string* path : {&run_, &top_, &latest_}) path->clear();
}

}  // namespace launch
