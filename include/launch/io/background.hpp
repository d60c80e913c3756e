// The one helper that lets a coroutine run beside others. The caller makes sure that what the coroutine refers to lives
// on: it is shared, or lives as long as the program's one executor. There is no way to cancel a coroutine: it ends by
// itself, because what it waits for has a deadline or is closed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace launch {

// Runs `task` to its end. Coroutines report errors as values; an exception that escapes one stops the program.
void run_in_background(const boost::asio::any_io_executor& executor, boost::asio::awaitable<void> task);

}  // namespace launch
