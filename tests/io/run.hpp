// Runs one coroutine to its end on a context of its own, for tests.
#pragma once

#include "launch/io/background.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <optional>
#include <utility>

namespace launch {

template <class T>
boost::asio::awaitable<void> keep(boost::asio::awaitable<T> task, std::optional<T>& result,
                                  boost::asio::io_context& io) {
  result.emplace(co_await std::move(task));
  io.stop();
}

// What else runs on `io` goes on meanwhile and is left where it is.
template <class T>
T run(boost::asio::io_context& io, boost::asio::awaitable<T> task) {
  std::optional<T> result;
  io.restart();
  run_in_background(io.get_executor(), keep(std::move(task), result, io));
  io.run();
  return std::move(*result);
}

}  // namespace launch
