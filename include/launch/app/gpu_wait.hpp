// Lets a restart wait until the memory that the last workers had on GPUs is free again (--wait-gpu-memory). Hooks asks
// it before each start of the workers. It keeps nobody from starting for longer than the user allows, and a signal to
// all ends the wait; core/host/gpu_wait decides what is still held.
#pragma once

#include "launch/app/gpu_desk.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/host/gpu_wait.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace launch {

class GpuWait {
 public:
  GpuWait(boost::asio::any_io_executor executor, const Config& config, WorkerGroup& workers);

  // Before the first start it only looks at the GPUs.
  boost::asio::awaitable<void> before_workers();

 private:
  // Empty: all is free.
  boost::asio::awaitable<std::string> held(Duration patience);
  boost::asio::awaitable<void> look_at_first();
  boost::asio::awaitable<void> wait();

  boost::asio::any_io_executor executor_;
  Duration limit_;
  WorkerGroup& workers_;
  GpuDesk desk_;
  bool begun_ = false;
  std::optional<GpuFacts> before_;  // the first start; nullopt: not known
};

}  // namespace launch
