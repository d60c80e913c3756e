#include "launch/core/session/end_account.hpp"

#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration news_and_evidence = 12s;  // from the failure to the first signal to workers of other nodes
constexpr Duration most_for_endless_hook = 24h;

std::string to_line(const ExchangeStep::Waiting& waiting) {
  const std::string count =
      waiting.nodes > 0 ? fmt::format(" ({} of {} have finished)", waiting.ended, waiting.nodes) : std::string();
  return fmt::format("waiting for the other nodes{}; the workers here have finished", count);
}

}  // namespace

Duration most_for_workers_end(const Config& config) {
  const Duration end = config.shutdown_timeout + config.kill_grace;
  if (config.hooks.after.empty()) return end;
  const bool endless = config.hooks.timeout == Duration::zero();
  return end + (endless ? most_for_endless_hook : config.hooks.timeout + config.kill_grace);
}

Duration most_for_end(const Config& config) { return most_for_workers_end(config) + news_and_evidence; }

ExchangePlace gathered_by_first(ExchangePlace place) {
  std::vector<NodeRank> nodes = std::exchange(place.others, {});
  if (nodes.empty()) return place;
  place.gatherer = nodes.front();
  if (place.gatherer == place.node_rank) place.others.assign(nodes.begin() + 1, nodes.end());
  return place;
}

Talk<Account> EndAccount::share(StoreLink link, ExchangePlace place, Account own) {
  Stage& stage = link.stage();
  // This node was told to stop just when all had ended well: the others have nothing to report. But one of them may
  // have looked a moment too early, and wait for this one.
  auto ended = co_await link.check(KeyList(1, all_ended_key(place.prefix)), later(stage.moment(), quick_answer));
  if (ended && ended->at(0)) {
    Operation leave = leave_account(place, own);
    (void)co_await link.perform(std::move(leave), later(stage.moment(), quick_answer));
    co_return own;
  }
  link_.emplace(std::move(link));
  exchange_.emplace(std::move(place), std::move(own), stage.report_interval());
  if (hurried_) exchange_->hurry();
  ExchangeStep step = exchange_->start(stage.moment());
  while (step.next) {
    if (step.waiting) stage.say(Say::Level::progress, to_line(*step.waiting));
    auto outcome = co_await link_->perform(*std::move(step.next), exchange_->deadline());
    if (!outcome) break;  // the store has gone
    step = exchange_->on(*outcome, stage.moment());
  }
  link_.reset();
  co_return exchange_->known();
}

Talk<void> EndAccount::stay_out(StoreLink link, ExchangePlace place) {
  Operation leave = leave_no_account(place);
  (void)co_await link.perform(std::move(leave), later(link.stage().moment(), quick_answer));
}

void EndAccount::hurry() {
  hurried_ = true;
  if (exchange_) exchange_->hurry();
  if (link_) link_->wake();
}

}  // namespace launch
