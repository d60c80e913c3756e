// The one helper that lets a coroutine run beside others. Its owner keeps alive what it refers to. Who starts one sees
// to it that what it refers to lives on: shared, or the object that lives as long as the program's one executor. There
// is no way to cancel one: a task ends by itself, because what it waits for has a deadline or is closed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace launch {

// Runs `task` to its end. Coroutines report errors as values; an exception that escapes one stops the program.
void run_in_background(const boost::asio::any_io_executor& executor, boost::asio::awaitable<void> task);

}  // namespace launch
