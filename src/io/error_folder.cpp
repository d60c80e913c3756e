#include "launch/io/error_folder.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

Error cannot_make(const std::string& path, int error = errno) {
  return Error{ErrorCode::system, fmt::format("cannot create the folder {} for the workers' files: {}; name a writable "
                                              "one by --log-dir or TMPDIR, or keep no files by --log-dir=/dev/null",
                                              path, std::strerror(error))};
}

// A run id may hold any character and be of any length; a folder's name, with what follows the id, may not.
std::string as_file_name(std::string text) {
  constexpr std::string_view more = "_abXXXXXX";
  std::replace(text.begin(), text.end(), '/', '_');
  return std::string(beginning_of(text, NAME_MAX - more.size()));
}

// Makes a new folder in `place`. That works on a full disk, too, so a file is tried as well, as Python's tempfile does.
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

bool is_own_folder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

constexpr const char* latest_name = "latest";

}  // namespace

Result<ErrorFolder> ErrorFolder::create_temporary(const std::vector<std::string>& places, const std::string& run_id) {
  // The first place is the user's, if there is a choice, so its error is the one to report.
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
  // A worker may change its working directory before it writes, so the path is absolute.
  std::string parent = std::filesystem::absolute(place, error).string();
  if (!error) std::filesystem::create_directories(parent, error);
  if (error) return cannot_make(place, error.value());
  while (parent.ends_with('/')) parent.pop_back();
  ErrorFolder folder;
  // mkdtemp makes six random letters, torchrun eight.
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const auto process = static_cast<std::size_t>(::getpid());
  folder.run_ = fmt::format("{}/{}_{}{}XXXXXX", parent, as_file_name(run_id), letters[process % letters.size()],
                            letters[process / letters.size() % letters.size()]);
  if (::mkdtemp(folder.run_.data()) == nullptr) return cannot_make(std::exchange(folder.run_, {}));
  return folder;
}

// A user may clean up while the job runs, and systemd-tmpfiles does so after some days. A folder that has our name by
// then, but was not made here, may be another user's trap.
bool ErrorFolder::make_again() const {
  std::error_code error;
  if (top_.empty()) {
    std::filesystem::create_directories(std::filesystem::path(run_).parent_path(), error);
  } else if (::mkdir(top_.c_str(), 0700) != 0 && !is_own_folder(top_)) {
    return false;
  }
  return ::mkdir(run_.c_str(), 0700) == 0;
}

Status ErrorFolder::begin_attempt(int nproc) {
  remove_empty_attempt();
  nproc_ = nproc;
  attempt_ = fmt::format("{}/attempt_{}", run_, attempts_++);
  int made = ::mkdir(attempt_.c_str(), 0777);
  if (made != 0 && errno == ENOENT && make_again()) {
    if (!latest_.empty()) link_latest();
    made = ::mkdir(attempt_.c_str(), 0777);
  }
  if (made != 0) return cannot_make(attempt_);
  for (int rank = 0; rank < nproc; ++rank) {
    const std::string path = fmt::format("{}/{}", attempt_, rank);
    if (::mkdir(path.c_str(), 0777) != 0) return cannot_make(path);
  }
  return {};
}

// The link is made under another name and then renamed, so that `latest` always exists. If `latest` is not a link, it
// is the user's and stays.
void ErrorFolder::link_latest() {
  const std::filesystem::path folder(run_);
  const std::string link = folder.parent_path() / latest_name;
  struct stat info {};
  if (::lstat(link.c_str(), &info) == 0 && !S_ISLNK(info.st_mode)) return;
  // The folder's name may already be as long as a name can be, so only its random end is used.
  const std::string fresh =
      fmt::format("{}/.{}_{}", folder.parent_path().string(), latest_name, run_.substr(run_.size() - 8));
  if (::symlink(folder.filename().c_str(), fresh.c_str()) != 0) return;
  if (::rename(fresh.c_str(), link.c_str()) != 0) {
    ::unlink(fresh.c_str());
  } else {
    latest_ = link;
  }
}

// Removes the link, unless it leads to another job's folder by now.
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
