#include "launch/io/side_process.hpp"

#include "launch/io/clock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr int highest_closed = 4096;
constexpr std::size_t longest_told = 65'536;
constexpr std::size_t longest_rest = 262'144;
constexpr std::int64_t longest_poll_ms = 60'000;  // milliseconds

// If it hangs in a driver, it outlives us: it must hold nothing by which others learn that we are gone.
void close_all_but(int kept) {
  const auto number = static_cast<unsigned>(kept);
  const bool before = number <= 3 || ::syscall(SYS_close_range, 3U, number - 1, 0U) == 0;
  if (before && ::syscall(SYS_close_range, number + 1, ~0U, 0U) == 0) return;
  for (int fd = 3; fd < highest_closed; ++fd)  // Linux before 5.9, or a filter
    if (fd != kept) ::close(fd);
}

[[noreturn]] void run(const std::function<void(int)>& work, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  close_all_but(output);
  work(output);
  ::_exit(0);
}

// What execve(2) wants; it points into the words.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<SideProcess> SideProcess::start(const SideProgram& program) {
  const auto argv = pointers_to(program.argv);
  const auto env = pointers_to(program.env);
  return start([&](int output) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(output, STDOUT_FILENO);
    ::execve(program.executable.c_str(), argv.data(), env.data());
  });
}

Result<SideProcess> SideProcess::start(const std::function<void(int)>& work) {
  const auto failure = [](const char* what) {
    return Error{ErrorCode::system, fmt::format("cannot make a {}: {}", what, std::strerror(errno))};
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failure("pipe");
  Fd output(ends[0]);
  Fd input(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return failure("process");
  if (pid == 0) run(work, input.get(), parent);
  return SideProcess(pid, std::move(output));
}

SideProcess::SideProcess(SideProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)), held_(std::move(other.held_)) {}

SideProcess::~SideProcess() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void SideProcess::abandon() {
  if (pid_ != 0) ::kill(std::exchange(pid_, 0), SIGKILL);
}

Result<std::string> SideProcess::rest(Time deadline) {
  std::string lines;
  for (;;) {
    auto next = line(deadline);
    if (!next && next.error().code == ErrorCode::closed) return lines;
    if (!next) return next;
    lines += *next + '\n';
    if (lines.size() > longest_rest) return protocol_error("too many lines");
  }
}

Result<std::string> SideProcess::line(Time deadline) {
  for (;;) {
    if (const auto end = held_.find('\n'); end != std::string::npos) {
      std::string line = held_.substr(0, end);
      held_.erase(0, end + 1);
      return line;
    }
    if (held_.size() > longest_told) return protocol_error("a line without an end");
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now()).count();
    pollfd one{output_.get(), POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, longest_poll_ms)));
    if (ready == 0 && left <= 0) return Error{ErrorCode::timeout, "no answer in time"};
    if (ready <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(output_.get(), bytes.data(), bytes.size());
    if (size > 0) held_.append(bytes.data(), static_cast<std::size_t>(size));
    if (size == 0) return Error{ErrorCode::closed, "it has ended"};
  }
}

}  // namespace launch
