// What is known of the GPUs of this host while a job runs: asks NVIDIA's library when somebody wants to know and the
// last answer is too old. NodeAnswers and the wait before a restart use it. Neither a library that hangs nor a driver
// that does not answer holds up the loop, or the end of launch. It decides nothing.
#pragma once

#include "launch/app/worker_group.hpp"
#include "launch/core/host/gpu_facts.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>

namespace launch {

class GpuDesk {
 public:
  // `workers` is told of the process that asks; both must outlive this object.
  GpuDesk(boost::asio::any_io_executor executor, WorkerGroup& workers);

  // How long to wait for an answer, and how old it may be.
  struct Haste {
    Duration patience{};
    Duration age = std::chrono::seconds(2);
  };
  // ErrorCode::timeout: they are not known in time. The question goes on, and its answer is kept for the next.
  boost::asio::awaitable<Result<GpuFacts>> facts(Haste haste);

 private:
  struct Known;

  WorkerGroup& workers_;
  pid_t asked_ = 0;               // the last process that was made for it
  std::shared_ptr<Known> known_;  // shared with the thread
  DiskThread thread_;             // waits for the answer
};

}  // namespace launch
