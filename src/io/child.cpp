#include "launch/io/child.hpp"

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/wait.h>
#include <boost/asio/error.hpp>

namespace launch {
namespace {

// If a traced process has ended, its debugger still keeps it from us, and only asking again tells when it lets go.
// Before Linux 5.3 asking is the only way.
constexpr auto ask_again = std::chrono::milliseconds(50);

constexpr ExitStatus end_not_known{ExitStatus::Kind::exited, 255};

// For Linux before 5.4, and under a filter of system calls. The pid is still that of our child.
std::optional<ExitStatus> reap_by_number(pid_t pid) {
  int status = 0;
  const pid_t found = ::waitpid(pid, &status, WNOHANG);
  if (found < 0 && errno == ECHILD) return end_not_known;
  if (found != pid) return std::nullopt;
  if (WIFEXITED(status)) return ExitStatus{ExitStatus::Kind::exited, WEXITSTATUS(status)};
  return ExitStatus{ExitStatus::Kind::signalled, WTERMSIG(status)};
}

// nullopt: it has not ended, or cannot be collected yet.
std::optional<ExitStatus> reap(int pidfd, pid_t pid) {
  siginfo_t info{};
  int failed = 0;
  do {
    failed = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return reap_by_number(pid);
  if (info.si_pid == 0) return std::nullopt;
  return exit_status_of(info);
}

// Also true if the kernel does not tell.
bool may_have_ended(int pidfd) {
  pollfd entry{pidfd, POLLIN, 0};
  return pidfd < 0 || ::poll(&entry, 1, 0) > 0;
}

}  // namespace

ExitStatus exit_status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {ExitStatus::Kind::exited, info.si_status};
  return {ExitStatus::Kind::signalled, info.si_status};
}

Child::Child(const boost::asio::any_io_executor& executor, Spawned spawned)
    : pid_(spawned.pid), pidfd_(executor), patience_(executor) {
  if (spawned.pidfd.valid()) pidfd_.assign(spawned.pidfd.release());
}

void Child::on_exit(std::function<void(ExitStatus)> callback) {
  if (!pidfd_.is_open()) return ask_later(std::move(callback));
  pidfd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, callback = std::move(callback)](const boost::system::error_code& error) mutable {
                      if (error == boost::asio::error::operation_aborted) return;  // closed: nobody waits any more
                      error ? ask_later(std::move(callback)) : collect(std::move(callback));
                    });
}

void Child::ask_later(std::function<void(ExitStatus)> callback) {
  patience_.expires_after(ask_again);
  patience_.async_wait([this, callback = std::move(callback)](const boost::system::error_code& error) mutable {
    if (!error) collect(std::move(callback));
  });
}

void Child::collect(std::function<void(ExitStatus)> callback) {
  const int pidfd = pidfd_.is_open() ? pidfd_.native_handle() : -1;
  const auto status = reap(pidfd, pid_);
  if (!status) {
    // Asio may wake us for an event of an older descriptor that was closed just as this one was opened.
    return may_have_ended(pidfd) ? ask_later(std::move(callback)) : on_exit(std::move(callback));
  }
  ended_ = true;
  pidfd_.close();
  callback(*status);
}

}  // namespace launch
