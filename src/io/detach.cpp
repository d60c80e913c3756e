#include "launch/io/detach.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr off_t longest_said = 65'536;

void become_background(int output, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
}

// A pipe or a lock of the shell is not held for as long as the job runs. Ours are closed by exec, so that what is not
// was there before us.
void close_inherited() {
  std::error_code ignored;
  std::vector<int> inherited;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const int fd = parse_int(entry.path().filename().string()).value_or(-1);
    const int flags = ::fcntl(fd, F_GETFD);
    if (fd > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0) inherited.push_back(fd);
  }
  for (const int fd : inherited) ::close(fd);
}

bool hear_begun(int pipe) {
  char word = 0;
  ssize_t size = 0;
  do {
    size = ::read(pipe, &word, 1);
  } while (size < 0 && errno == EINTR);
  return size == 1;
}

int code_of_end(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) < 0 && errno == EINTR) {
  }
  return exit_code(exit_status_of(info));
}

std::string text_from(const std::string& file, off_t from) {
  const Fd input(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(static_cast<std::size_t>(longest_said), '\0');
  const ssize_t size = ::pread(input.get(), text.data(), text.size(), from);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

}  // namespace

Result<Detached> detach(const std::string& file) {
  const auto reason = [] { return Error{ErrorCode::system, std::strerror(errno)}; };
  const Fd output(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!output.valid()) return reason();
  const off_t before = std::max<off_t>(::lseek(output.get(), 0, SEEK_END), 0);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return reason();
  Fd heard(ends[0]);
  Fd begun(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return reason();
  if (pid == 0) {
    become_background(output.get(), parent);
    close_inherited();
    return Detached{std::nullopt, std::move(begun)};
  }
  begun.reset();
  if (hear_begun(heard.get())) return Detached{BackgroundStart{true, pid}};
  const int code = code_of_end(pid);
  std::string said = text_from(file, before);
  if (said.empty()) said = fmt::format("launch: error: nothing was started (exit code {})\n", code);
  return Detached{BackgroundStart{false, pid, code, std::move(said)}};
}

void say_begun(Fd& begun) {
  ::prctl(PR_SET_PDEATHSIG, 0);
  write_all(begun.get(), "b");
  begun.reset();
}

}  // namespace launch
