#include "launch/app/teller.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"

#include <utility>

namespace launch {
namespace asio = boost::asio;

asio::awaitable<void> Teller::begin(SessionRunner& session, Failure failure) {
  co_await until_told();
  tells_ = true;
  run_in_background(executor_, tell(session, std::move(failure)));
}

asio::awaitable<void> Teller::tell(SessionRunner& session, Failure failure) {
  co_await session.tell(std::move(failure));
  tells_ = false;
  told_.cancel();
}

asio::awaitable<void> Teller::until_told() {
  while (tells_) {
    told_.expires_at(to_steady(never));
    (void)co_await told_.async_wait(as_values);
  }
}

}  // namespace launch
