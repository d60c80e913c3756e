#include "launch/io/child.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include <sys/wait.h>

namespace launch {
namespace {

// nullopt: it has not ended.
std::optional<ExitStatus> reap(int pidfd) {
  siginfo_t info{};
  int failed = 0;
  do {
    failed = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0 && info.si_pid == 0) return std::nullopt;
  return exit_status_of(info);
}

}  // namespace

ExitStatus exit_status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {ExitStatus::Kind::exited, info.si_status};
  return {ExitStatus::Kind::signalled, info.si_status};
}

Child::Child(const boost::asio::any_io_executor& executor, Spawned spawned)
    : pid_(spawned.pid), pidfd_(executor, spawned.pidfd.release()) {}

void Child::on_exit(std::function<void(ExitStatus)> callback) {
  pidfd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this, callback = std::move(callback)](const boost::system::error_code& error) mutable {
                      if (error) return;  // the descriptor was closed: nobody waits any more
                      // Asio may wake us for what became of a descriptor that was closed as this one was opened.
                      const auto status = reap(pidfd_.native_handle());
                      if (!status) return on_exit(std::move(callback));
                      ended_ = true;
                      pidfd_.close();
                      callback(*status);
                    });
}

}  // namespace launch
