#include "launch/io/turns.hpp"

#include "launch/io/deadline.hpp"

namespace launch {
namespace asio = boost::asio;

Turns::Turns(const asio::any_io_executor& executor) : ended_(executor, asio::steady_timer::time_point::max()) {}

int Turns::begin() {
  open_.insert(next_);
  return next_++;
}

asio::awaitable<void> Turns::come(int turn) {
  while (*open_.begin() < turn) (void)co_await ended_.async_wait(as_values);
}

void Turns::end(int turn) {
  open_.erase(turn);
  ended_.cancel();
}

}  // namespace launch
