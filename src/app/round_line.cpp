#include "launch/app/round_line.hpp"

#include "launch/app/conversations.hpp"
#include "launch/core/rendezvous/account_exchange.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

RoundLine::RoundLine(asio::any_io_executor executor, Mailbox& mailbox, StoreClient control, Place place)
    : executor_(executor),
      mailbox_(mailbox),
      place_(std::move(place)),
      heartbeat_(plan_heartbeat(place_.silence_limit, place_.nnodes)),
      host_waits_(!place_.beats),
      store_(control.peer()),
      random_(random_seed()),
      control_(std::move(control)),
      over_(executor) {}

Will last_will(const RoundLine::Place& place, const std::string& host, bool others_go_on) {
  Failure who;
  who.kind = Failure::Kind::lost;
  who.node_rank = place.node_rank;
  who.host = host;
  who.restart = others_go_on;
  Will::Word word;
  word.key = abort_key(place.prefix);
  who.what = "its launch ended without a word";
  word.if_closed = to_json(who);
  who.what = fmt::format("its launch has said nothing for {}", to_text(place.silence_limit));
  word.if_silent = to_json(who);
  Will will;
  will.words.push_back(std::move(word));
  will.gone.push_back(account_key(place.prefix, place.node_rank));  // nobody is to wait for this node's account
  return will;
}

asio::awaitable<Status> RoundLine::pledge(Will will, Time connect_by) {
  const auto self = shared_from_this();
  const Time deadline = std::min(connect_by, patience());
  auto connected = co_await connect_quietly(store_, deadline, random_);
  if (closed_) co_return Error{ErrorCode::cancelled, "the round is over"};
  if (!connected) co_return connected.error();
  watch_.emplace(std::move(*connected));
  if (!place_.by_launch) {
    Operation check = CheckKeys{KeyList(1, place_.host_sign)};
    auto checked = co_await watch_->perform(std::move(check), deadline);
    if (!checked) co_return checked.error();
    place_.by_launch = std::get<Presence>(*checked).present.at(0);
  }
  has_will_ = host_waits_ = *place_.by_launch;
  waits_for_store_ = waits_for_store_ && has_will_;
  if (!has_will_) co_return Status();  // torchrun's store knows no wills
  Operation leave = LeaveWill{std::move(will)};
  auto left = co_await watch_->perform(std::move(leave), deadline);
  if (!left) co_return left.error();
  co_return Status();
}

void RoundLine::start_watching(Time connect_by) {
  watches_ = true;
  run_in_background(executor_, watch(shared_from_this(), connect_by));
}

void RoundLine::start_leaving(std::optional<Duration> patience, std::function<void()> on_counted) {
  leaves_ = true;
  run_in_background(executor_, leave(shared_from_this(), patience, std::move(on_counted)));
}

void RoundLine::replace_will(Will will) {
  if (has_will_) new_will_ = std::move(will);
  if (watch_) watch_->wake();
}

void RoundLine::retire() {
  retired_ = true;
  control_.close();
}

Time RoundLine::next_beat() const { return beats() ? later(now(), heartbeat_.interval) : never; }

Time RoundLine::patience() const { return beats() ? later(now(), heartbeat_.patience) : never; }

asio::awaitable<void> RoundLine::watch(std::shared_ptr<RoundLine> /*self*/, Time connect_by) {
  if (!watch_) {
    auto connected = co_await connect_quietly(store_, connect_by, random_);
    if (closed_) co_return;
    if (!connected) {
      mailbox_.put(StoreLost{connected.error().message, Duration::max(), {}, host_waits_});
      co_return;
    }
    watch_.emplace(std::move(*connected));
  }
  auto failure = co_await await_abort();
  if (!failure) {
    lose(failure.error());
  } else if (!closed_) {
    if (!retired_ || !failure->restart) mailbox_.put(PeerFailed{*failure});
    co_await be_heard(failure->restart);
  }
  watches_ = false;
  over_.cancel();
}

void RoundLine::lose(const Error& error) {
  if (closed_) return;
  lost_ = true;
  // It stands: a host that was only asleep must hear that this node has gone.
  has_will_ = false;
  if (waits_for_store_ && !aborted_) return control_.close();
  // If the host has ended, so has that connection, which may still hold the news that all have come.
  if (leaves_ && host_waits_) return error.code == ErrorCode::closed ? void() : control_.close();
  mailbox_.put(StoreLost{error.message, place_.grace, stood_still_, host_waits_});
}

asio::awaitable<bool> RoundLine::was_lost(Time by) {
  const auto self = shared_from_this();
  while (watches_ && !aborted_ && !lost_ && now() < by) {
    over_.expires_at(to_steady(by));
    (void)co_await over_.async_wait(as_values);
  }
  co_return waits_for_store_ && !aborted_;
}

asio::awaitable<Result<Failure>> RoundLine::await_abort() {
  if (beats()) watch_->set_patience(heartbeat_.patience);
  while (true) {
    while (auto will = std::exchange(new_will_, std::nullopt)) {
      has_will_ = !will->empty();
      Operation leave = LeaveWill{std::move(*will)};
      auto left = co_await watch_->perform(std::move(leave), patience());
      if (!left) co_return left.error();
      if (closed_) co_return Error{ErrorCode::cancelled, "the round is over"};
    }
    Operation wait = AwaitKeys{KeyList(1, abort_key(place_.prefix))};
    const Time asked = now();
    auto waited = co_await watch_->perform(std::move(wait), next_beat());
    // Awake, it would have given up by itself before.
    const bool slept = beats() && now() > later(asked, heartbeat_.silence);
    if (!waited && slept) stood_still_ = now() - asked;
    if (!waited) co_return waited.error();
    if (std::holds_alternative<Done>(*waited)) break;
  }
  aborted_ = true;
  over_.cancel();
  co_return co_await learn_abort(*watch_, place_.prefix, place_.node_rank, patience());
}

// The round has failed; the will stands, so this node is still to be heard of: until the job has ended, or until the
// next round has its will.
asio::awaitable<void> RoundLine::be_heard(bool goes_on) {
  while (!closed_ && has_will_) {
    Operation wait = AwaitKeys{KeyList(1, together_key(place_.prefix))};
    auto waited = co_await watch_->perform(std::move(wait), next_beat());
    if (!waited && goes_on) co_return lose(waited.error());
    lost_ = lost_ || !waited;
    if (!waited || std::holds_alternative<Done>(*waited)) co_return;
  }
}

asio::awaitable<void> RoundLine::leave(std::shared_ptr<RoundLine> /*self*/, std::optional<Duration> patience,
                                       std::function<void()> on_counted) {
  const std::function<void()> counted = [&] {
    if (!closed_ && !retired_) on_counted();
  };
  const std::function<void(int)> on_waiting = [this](int ended) {
    log_progress(fmt::format("the workers here have ended; waiting for the other nodes: {} of {} have ended", ended,
                             place_.nnodes));
  };
  ExitBarrier barrier(place_.prefix, place_.nnodes, patience, progress_interval());
  auto passed = co_await pass(control_, std::move(barrier), counted, on_waiting);
  if (closed_ || retired_) co_return;
  if (!passed && host_waits_) {
    lost_ = true;
    mailbox_.put(StoreLost{passed.error().message, place_.grace, stood_still_, true});
    co_return;
  }
  if (passed && !*passed)
    log_warning(fmt::format("some nodes have not ended {} after this one; leaving without them",
                            to_text(exit_barrier_timeout)));
  mailbox_.put(BarrierDone{});
}

void RoundLine::close() {
  closed_ = true;
  control_.close();
  if (!watch_) return;
  if (has_will_) return watch_->part();
  watch_->close();
}

}  // namespace launch
