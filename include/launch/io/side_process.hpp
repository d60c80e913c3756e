// Runs what may print, hang or crash in a process of its own, and reads what it tells line by line, each by a deadline.
// Its standard streams lead nowhere. It is killed, with all threads that a foreign library has begun in it, when this
// object ends, or when launch does. Used before anything else is started, and to look a host over; blocks.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

// A program whose standard output is read.
struct SideProgram {
  std::string executable;  // a path
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=VALUE
};

class SideProcess {
 public:
  // `work` runs there, and writes its lines to the descriptor that it gets.
  static Result<SideProcess> start(const std::function<void(int)>& work);
  // If it cannot be executed, it ends without a line.
  static Result<SideProcess> start(const SideProgram& program);
  SideProcess(SideProcess&& other) noexcept;
  SideProcess& operator=(SideProcess&&) = delete;
  SideProcess(const SideProcess&) = delete;
  SideProcess& operator=(const SideProcess&) = delete;
  ~SideProcess();

  // The next line, without its end. ErrorCode::closed: it has ended; timeout: it says nothing until then.
  Result<std::string> line(Time deadline);
  // All whole lines until it ends. ErrorCode::timeout: it has not by then; protocol: there are too many.
  Result<std::string> rest(Time deadline);

  pid_t pid() const { return pid_; }
  // Can be read from when line() should be asked again.
  int descriptor() const { return output_.get(); }
  // Kills it, and does not wait for its end: in the kernel, as in the driver of a device, it may not end at all.
  void abandon();

 private:
  SideProcess(pid_t pid, Fd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;
  Fd output_;
  std::string held_;
};

}  // namespace launch
