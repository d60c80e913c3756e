#include "launch/app/typed_input.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/log.hpp"

#include <array>
#include <csignal>
#include <utility>
#include <vector>

#include <unistd.h>
#include <boost/asio/buffer.hpp>

namespace launch {
namespace asio = boost::asio;

TypedInput::TypedInput(const asio::any_io_executor& executor, InputHandlers handlers)
    : executor_(executor), handlers_(std::move(handlers)), bytes_(executor), gate_(executor) {}

void TypedInput::look() {
  gate_.cancel();
  if (opened_ || !handlers_.wants_more()) return;
  opened_ = true;
  if (open()) run_in_background(executor_, read());
}

bool TypedInput::open() {
  // A read in the background fails then, in place of stopping this process. What is started has no signal blocked.
  sigset_t reading;
  sigemptyset(&reading);
  sigaddset(&reading, SIGTTIN);
  ::sigprocmask(SIG_BLOCK, &reading, nullptr);
  if (std::vector<Fd> again = StdinFeeder::open_again_each(STDIN_FILENO, 1); !again.empty())
    own_ = std::move(again.front());
  feeder_.emplace(executor_, own_.valid() ? own_.get() : STDIN_FILENO, ::getpid(), "the standard input");
  auto copy = feeder_->open_copy();
  if (copy) {
    boost::system::error_code failed;
    bytes_.assign(copy->get(), failed);
    if (!failed) return (void)copy->release(), true;
  }
  log_warning("the standard input cannot be read, so no worker gets it");
  handlers_.on_bytes("");
  return false;
}

asio::awaitable<void> TypedInput::read() {
  std::array<char, 65536> bytes{};
  for (;;) {
    while (!handlers_.wants_more()) {
      gate_.expires_at(to_steady(never));
      (void)co_await gate_.async_wait(as_values);
    }
    auto reading = bytes_.async_read_some(asio::buffer(bytes), as_values);
    const auto [error, size] = co_await std::move(reading);
    handlers_.on_bytes(std::string(bytes.data(), error ? 0 : size));
    if (error) co_return;
  }
}

}  // namespace launch
