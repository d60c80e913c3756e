#include "launch/io/child.hpp"

#include <cerrno>
#include <utility>

#include <sys/wait.h>

namespace launch {
namespace {

ExitStatus reap(int pidfd) {
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, WEXITED) != 0 && errno == EINTR) {
  }
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
                    [this, callback = std::move(callback)](const boost::system::error_code& error) {
                      if (error) return;  // the descriptor was closed: nobody waits any more
                      const ExitStatus status = reap(pidfd_.native_handle());
                      ended_ = true;
                      pidfd_.close();
                      callback(status);
                    });
}

}  // namespace launch
