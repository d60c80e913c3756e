// Runs what may print, hang or crash in a process of its own, and reads what it tells line by line, each by a deadline.
// Its standard streams lead nowhere. It is killed, with all threads that a foreign library has begun in it, when this
// object ends, or when launch does. Used before anything else is started; blocks.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"

#include <functional>
#include <string>

#include <sys/types.h>

namespace launch {

class SideProcess {
 public:
  // `work` runs there, and writes its lines to the descriptor that it gets.
  static Result<SideProcess> start(const std::function<void(int)>& work);
  SideProcess(SideProcess&& other) noexcept;
  SideProcess& operator=(SideProcess&&) = delete;
  SideProcess(const SideProcess&) = delete;
  SideProcess& operator=(const SideProcess&) = delete;
  ~SideProcess();

  // The next line, without its end. ErrorCode::closed: it has ended; timeout: it says nothing until then.
  Result<std::string> line(Time deadline);

 private:
  SideProcess(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;
  Fd output_;
  std::string held_;
};

}  // namespace launch
