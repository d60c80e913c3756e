#include "launch/io/background.hpp"

#include "launch/io/log.hpp"

#include <chrono>
#include <exception>
#include <string>

#include <boost/asio/co_spawn.hpp>

namespace launch {
namespace {

[[noreturn]] void stop_program(const std::exception_ptr& escaped) {
  try {
    std::rethrow_exception(escaped);
  } catch (const std::exception& error) {
    log_error(std::string("internal error: ") + error.what());
  } catch (...) {
    log_error("internal error of unknown kind");
  }
  (void)flush_log(std::chrono::seconds(1));
  std::terminate();
}

}  // namespace

void run_in_background(const boost::asio::any_io_executor& executor, boost::asio::awaitable<void> task) {
  boost::asio::co_spawn(executor, std::move(task), [](const std::exception_ptr& escaped) {
    if (escaped) stop_program(escaped);
  });
}

}  // namespace launch
