// The one helper that lets a coroutine run beside others. Its owner keeps alive what it refers to.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace launch {

// Runs `task` to its end. Coroutines report errors as values; an exception that escapes one stops the program.
void run_in_background(const boost::asio::any_io_executor& executor, boost::asio::awaitable<void> task);

}  // namespace launch
