// Waits until the time of the job is nearly up, as the scheduler or the user says, and says so. AgentLoop then warns
// the workers. It decides nothing (config/preemption knows when that is), and asks no scheduler.
// Its talk ends with its owner: it must not outlive `preemption`.
#pragma once

#include "launch/core/config/preemption.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace launch {

// True when the workers are to be warned; false at once if nobody wants that, or if it is too late.
boost::asio::awaitable<bool> time_is_short(boost::asio::any_io_executor executor, const Preemption& preemption);

}  // namespace launch
