#include "launch/io/thread_error.hpp"

#include <cerrno>

#include <fmt/format.h>

namespace launch {

Error thread_refused(std::string_view purpose, const std::error_code& code) {
  std::string_view advice;
  if (code.value() == EAGAIN)
    advice = "; the limit of processes is reached (ulimit -u, or pids.max of the control group)";
  // New C libraries take clone3 and give up if it is refused in any other way than as unknown.
  if (code.value() == EPERM)
    advice =
        "; a filter of system calls, such as that of an old Docker, is in the way of this C library: take a newer "
        "Docker, or the static program of launch";
  return {ErrorCode::system, fmt::format("cannot start a thread for {}: {}{}", purpose, code.message(), advice)};
}

}  // namespace launch
