#include "launch/app/round_line.hpp"

#include "launch/app/conversations.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

RoundLine::RoundLine(asio::any_io_executor executor, Mailbox& mailbox, StoreClient control, Place place)
    : executor_(std::move(executor)),
      mailbox_(mailbox),
      place_(std::move(place)),
      store_(control.peer()),
      random_(random_seed()),
      control_(std::move(control)) {}

void RoundLine::start_watching(Time connect_by) { run_in_background(executor_, watch(shared_from_this(), connect_by)); }

void RoundLine::start_leaving() { run_in_background(executor_, leave(shared_from_this())); }

asio::awaitable<void> RoundLine::watch(std::shared_ptr<RoundLine> /*self*/, Time connect_by) {
  auto connected = co_await connect_quietly(store_, connect_by, random_);
  if (closed_) co_return;
  if (!connected) {
    mailbox_.put(StoreLost{connected.error().message});
    co_return;
  }
  watch_.emplace(std::move(*connected));
  auto failure = co_await await_abort(*watch_, place_.prefix, place_.node_rank);
  if (closed_) co_return;
  if (failure) {
    mailbox_.put(PeerFailed{*failure});
  } else {
    mailbox_.put(StoreLost{failure.error().message});
  }
}

asio::awaitable<void> RoundLine::leave(std::shared_ptr<RoundLine> /*self*/) {
  ExitBarrier barrier(place_.prefix, place_.nnodes);
  auto passed = co_await pass(control_, std::move(barrier));
  if (closed_) co_return;
  if (passed && !*passed)
    log_warning(fmt::format("some nodes have not ended {} after this one; leaving without them",
                            to_text(exit_barrier_timeout)));
  mailbox_.put(BarrierDone{});
}

// On a connection of its own: the others may be waiting for what never comes.
asio::awaitable<Result<Failure>> RoundLine::tell(Failure failure) {
  const auto self = shared_from_this();
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_quietly(store_, deadline, random_);
  if (!client) co_return client.error();
  co_return co_await tell_abort(*client, place_.prefix, std::move(failure), deadline);
}

void RoundLine::close() {
  closed_ = true;
  control_.close();
  if (watch_) watch_->close();
}

}  // namespace launch
