#include "launch/app/round_line.hpp"

#include "launch/app/conversations.hpp"
#include "launch/app/end_exchange.hpp"
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
      heartbeat_(plan_heartbeat(place_.silence_limit, place_.nnodes)),
      store_(control.peer()),
      random_(random_seed()),
      control_(std::move(control)) {}

void RoundLine::start_watching(Time connect_by) { run_in_background(executor_, watch(shared_from_this(), connect_by)); }

LeaveWill last_will(const RoundLine::Place& place, const std::string& host, bool others_go_on) {
  Failure who;
  who.kind = Failure::Kind::lost;
  who.node_rank = place.node_rank;
  who.host = host;
  who.restart = others_go_on;
  LeaveWill will;
  who.what = "its launch ended without a word";
  will.key = abort_key(place.prefix);
  will.gone = account_key(place.prefix, place.node_rank);  // nobody is to wait for this node's account
  will.if_closed = to_json(who);
  who.what = fmt::format("its launch has said nothing for {}", to_text(place.silence_limit));
  will.if_silent = to_json(who);
  return will;
}

void RoundLine::pledge(const std::string& host, bool others_go_on, Round formed) {
  if (!beats()) return mailbox_.put(RendezvousDone{std::move(formed)});
  formed_ = std::move(formed);
  will_ = last_will(place_, host, others_go_on);
  will_is_new_ = true;
  if (watch_) watch_->wake();
}

void RoundLine::start_leaving(std::optional<Duration> patience) {
  run_in_background(executor_, leave(shared_from_this(), patience));
}

asio::awaitable<void> RoundLine::watch(std::shared_ptr<RoundLine> /*self*/, Time connect_by) {
  auto connected = co_await connect_quietly(store_, connect_by, random_);
  if (closed_) co_return;
  if (!connected) {
    mailbox_.put(StoreLost{connected.error().message});
    co_return;
  }
  watch_.emplace(std::move(*connected));
  auto failure = co_await await_abort();
  if (closed_) co_return;
  if (failure) {
    mailbox_.put(PeerFailed{*failure});
    if (!failure->restart) co_await be_heard();
  } else {
    lost_ = true;
    has_will_ = false;  // it stands: a host that was only asleep must hear that this node has gone
    mailbox_.put(StoreLost{failure.error().message, place_.grace, stood_still_});
  }
}

asio::awaitable<Result<Failure>> RoundLine::await_abort() {
  const Duration patience = heartbeat_.patience;
  if (beats()) watch_->set_patience(patience);
  while (true) {
    if (std::exchange(will_is_new_, false)) {
      Status left = co_await leave_will(later(now(), patience));
      if (!left) co_return left.error();
      if (closed_) co_return Error{ErrorCode::cancelled, "the round is over"};
      if (auto formed = std::exchange(formed_, std::nullopt)) mailbox_.put(RendezvousDone{std::move(*formed)});
    }
    Operation wait = AwaitKeys{KeyList(1, abort_key(place_.prefix))};
    const Time asked = now();
    auto waited = co_await watch_->perform(std::move(wait), beats() ? later(asked, heartbeat_.interval) : never);
    // Awake, it would have given up by itself before.
    const bool slept = beats() && now() > later(asked, heartbeat_.silence);
    if (!waited && slept) stood_still_ = now() - asked;
    if (!waited) co_return waited.error();
    if (std::holds_alternative<Done>(*waited)) break;
  }
  co_return co_await learn_abort(*watch_, place_.prefix, place_.node_rank, beats() ? later(now(), patience) : never);
}

// The job has failed; the will stands, so this node is still to be heard of.
asio::awaitable<void> RoundLine::be_heard() {
  while (!closed_ && has_will_) {
    Operation wait = AwaitKeys{KeyList(1, together_key(place_.prefix))};
    auto waited = co_await watch_->perform(std::move(wait), later(now(), heartbeat_.interval));
    lost_ = lost_ || !waited;
    if (!waited || std::holds_alternative<Done>(*waited)) co_return;
  }
}

asio::awaitable<Status> RoundLine::leave_will(Time deadline) {
  Operation check = CheckKeys{KeyList(1, place_.host_sign)};
  auto checked = co_await watch_->perform(std::move(check), deadline);
  if (!checked) co_return checked.error();
  if (!std::get<Presence>(*checked).present.at(0)) co_return Status();  // torchrun's store knows no wills
  has_will_ = !will_.key.empty();
  Operation leave = will_;
  auto left = co_await watch_->perform(std::move(leave), deadline);
  if (!left) co_return left.error();
  co_return Status();
}

asio::awaitable<void> RoundLine::leave(std::shared_ptr<RoundLine> /*self*/, std::optional<Duration> patience) {
  const std::function<void(int)> on_waiting = [this](int ended) {
    log_progress(fmt::format("the workers here have ended; waiting for the other nodes: {} of {} have ended", ended,
                             place_.nnodes));
  };
  ExitBarrier barrier(place_.prefix, place_.nnodes, patience, progress_interval());
  will_ = {};
  will_is_new_ = has_will_;
  if (watch_) watch_->wake();
  auto passed = co_await pass(control_, std::move(barrier), on_waiting);
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
  if (!watch_) return;
  if (has_will_) return watch_->part();
  watch_->close();
}

}  // namespace launch
