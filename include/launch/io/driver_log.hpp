// What NVIDIA's driver has reported in the kernel's log since the workers of an attempt were started: each Xid that may
// concern them. Where there is no such driver, or the log may not be read, it finds nothing and says nothing. It never
// waits for new records, and holds no more than one descriptor.
#pragma once

#include "launch/core/host/xid.hpp"
#include "launch/io/fd.hpp"

#include <string>
#include <utility>
#include <vector>

namespace launch {

class DriverLog {
 public:
  // `root` is for tests: the folder that has dev/kmsg, dev/nvidiactl and proc/driver.
  explicit DriverLog(std::string root = "") : root_(std::move(root)) {}

  // Only what is reported from now on counts.
  void begin();
  // There is such a driver, and its reports can be read.
  bool open() const { return log_.valid(); }
  // What has been reported since begin(), or since the last call. Without what concerns a process that runs and does
  // not descend from this one, and GPUs that this process may not use.
  std::vector<Xid> read() const;

 private:
  bool may_use(const std::string& gpu) const;

  std::string root_;
  Fd log_;
};

}  // namespace launch
