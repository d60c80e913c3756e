#include "launch/io/gathered_files.hpp"

#include "launch/io/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace launch {
namespace {

Error system_reason(int error) { return {ErrorCode::system, std::strerror(error)}; }

}  // namespace

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  const fs::directory_options options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (at->symlink_status(unknown).type() == fs::file_type::regular)
      names.push_back(at->path().lexically_relative(folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_piece(const std::string& path, std::uint64_t from, std::size_t most) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return system_reason(errno);
  std::string bytes(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t size = ::pread(file.get(), bytes.data() + done, most - done, static_cast<off_t>(from + done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_reason(errno);
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  bytes.resize(done);
  return bytes;
}

Status make_folders(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return system_reason(error.value());
  return std::filesystem::is_directory(folder, error) ? Status() : Status(system_reason(ENOTDIR));
}

Status write_piece(const std::string& path, std::string_view bytes, bool first) {
  if (first)
    if (Status made = make_folders(std::filesystem::path(path).parent_path().string()); !made) return made;
  const int how = first ? O_TRUNC | O_CREAT : O_APPEND;
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | how, 0666));
  if (!file.valid()) return system_reason(errno);
  return write_all(file.get(), bytes) ? Status() : Status(system_reason(errno));
}

}  // namespace launch
