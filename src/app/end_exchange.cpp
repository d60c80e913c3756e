#include "launch/app/end_exchange.hpp"

#include "launch/app/conversations.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration news_and_evidence = 12s;  // from the failure to the first signal to a worker elsewhere

void announce(const ExchangeStep::Waiting& waiting) {
  std::string line = "the workers here have ended; waiting for those of the other nodes";
  if (waiting.nodes > 0) line += fmt::format(": {} of {} have ended", waiting.ended, waiting.nodes);
  log_progress(line);
}

}  // namespace

Time most_for_end(const Config& config) {
  return later(now(), config.shutdown_timeout + config.kill_grace + news_and_evidence);
}

asio::awaitable<Account> EndExchange::share(StoreClient client, ExchangePlace place, Account own) {
  client_.emplace(std::move(client));
  exchange_.emplace(std::move(place), std::move(own), progress_interval());
  if (hurried_) exchange_->hurry();
  ExchangeStep step = exchange_->start(now());
  while (step.next) {
    if (step.waiting) announce(*step.waiting);
    auto outcome = co_await client_->perform(*std::move(step.next), exchange_->deadline());
    if (!outcome) break;  // the store has gone
    step = exchange_->on(*outcome, now());
  }
  client_.reset();
  co_return exchange_->known();
}

asio::awaitable<void> EndExchange::stay_out(StoreClient client, ExchangePlace place) {
  client_.emplace(std::move(client));
  Operation leave = leave_no_account(place);
  (void)co_await client_->perform(std::move(leave), later(now(), quick_answer));
  client_.reset();
}

void EndExchange::hurry() {
  hurried_ = true;
  if (exchange_) exchange_->hurry();
  if (client_) client_->wake();
}

}  // namespace launch
