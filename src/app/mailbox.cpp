#include "launch/app/mailbox.hpp"

#include "launch/io/clock.hpp"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace launch {

namespace {

Duration grace_of(const AgentEvent& event) {
  if (const auto* lost = std::get_if<StoreLost>(&event)) return lost->grace;
  if (const auto* changed = std::get_if<MembersChanged>(&event)) return changed->grace;
  return Duration::max();
}

}  // namespace

void Mailbox::put(AgentEvent event) {
  limit(grace_of(event));
  events_.push_back(std::move(event));
  wake_.cancel();
}

void Mailbox::limit(Duration grace) {
  if (grace != Duration::max()) on_grace_(grace);
}

void Mailbox::put_first(AgentEvent event) {
  events_.push_front(std::move(event));
  wake_.cancel();
}

void Mailbox::forget_round() {
  std::erase_if(events_, [](const AgentEvent& event) {
    const auto* failed = std::get_if<PeerFailed>(&event);
    return (failed != nullptr && failed->failure.restart) || std::holds_alternative<MembersChanged>(event) ||
           std::holds_alternative<AllGone>(event) || std::holds_alternative<BarrierDone>(event) ||
           std::holds_alternative<RendezvousDone>(event) || std::holds_alternative<RendezvousFailed>(event);
  });
}

boost::asio::awaitable<std::optional<AgentEvent>> Mailbox::take(Time deadline) {
  while (events_.empty()) {
    if (now() >= deadline) co_return std::nullopt;
    wake_.expires_at(to_steady(deadline));
    (void)co_await wake_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  AgentEvent event = std::move(events_.front());
  events_.pop_front();
  co_return std::move(event);
}

}  // namespace launch
