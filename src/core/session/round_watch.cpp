#include "launch/core/session/round_watch.hpp"

#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {

std::vector<NodeRank> RoundWatch::Place::nodes_without(const std::vector<NodeRank>& some) const {
  std::vector<NodeRank> nodes;
  for (NodeRank rank; rank.value < nnodes; ++rank.value)
    if (!std::binary_search(some.begin(), some.end(), rank)) nodes.push_back(rank);
  return nodes;
}

RoundWatch::RoundWatch(Stage& stage, StoreLink control, Place place)
    : stage_(stage),
      place_(std::move(place)),
      heartbeat_(plan_heartbeat(place_.silence_limit, place_.nnodes)),
      host_waits_(!place_.beats),
      control_(std::move(control)),
      over_(stage),
      heard_out_(stage),
      watching_(stage),
      leaving_(stage) {}

RoundWatch::~RoundWatch() {
  watching_.give_up();
  leaving_.give_up();
  if (watch_ && has_will_) watch_->part();
}

Will last_will(const RoundWatch::Place& place, const std::string& host, bool others_go_on) {
  const auto loss = [&](std::string what) {
    Failure failure = failure_of_lost_node({place.node_rank, host}, std::move(what));
    failure.restart = others_go_on;
    return to_json(failure);
  };
  Will::Word word;
  word.key = abort_key(place.prefix);
  word.unless = all_ended_key(place.prefix);  // after that the loss of this node harms nobody
  word.if_closed = loss("its launch process died without a report");
  word.if_silent =
      loss(fmt::format("no heartbeat of its launch process for {} (machine down, network cut, or launch frozen; the "
                       "limit is --heartbeat-timeout)",
                       to_text(place.silence_limit)));
  Will will;
  will.words.push_back(std::move(word));
  will.gone.push_back(account_key(place.prefix, place.node_rank.value));  // nobody must wait for this node's account
  return will;
}

Talk<Status> RoundWatch::pledge(Will will, Time connect_by) {
  const Time deadline = std::min(connect_by, patience());
  auto connected = co_await connect_quietly(stage_, control_.peer(), deadline);
  if (!connected) co_return connected.error();
  watch_.emplace(*std::move(connected));
  if (!place_.by_launch) {
    auto checked = co_await watch_->check(KeyList(1, std::string(host_key)), deadline);
    if (!checked) co_return checked.error();
    place_.by_launch = checked->at(0);
  }
  has_will_ = host_waits_ = *place_.by_launch;
  waits_for_store_ = waits_for_store_ && has_will_;
  if (!has_will_) co_return Status();  // torchrun's store knows no wills
  Operation leave = LeaveWill{std::move(will)};
  auto left = co_await watch_->perform(std::move(leave), deadline);
  if (!left) co_return left.error();
  co_return Status();
}

void RoundWatch::start_watching(Time connect_by) {
  watches_ = true;
  watching_.start(watch(connect_by));
}

void RoundWatch::start_leaving(std::optional<Duration> patience, std::function<void()> on_counted) {
  leaves_ = true;
  leaving_.start(leave(patience, std::move(on_counted)));
}

void RoundWatch::replace_will(Will will) {
  if (has_will_) new_will_ = std::move(will);
  if (watch_) watch_->wake();
}

void RoundWatch::retire() {
  retired_ = true;
  leaving_.give_up();
  control_.close();
}

Time RoundWatch::next_beat() const { return beats() ? later(stage_.moment(), heartbeat_.interval) : never; }

Time RoundWatch::patience() const { return beats() ? later(stage_.moment(), heartbeat_.patience) : never; }

Talk<void> RoundWatch::watch(Time connect_by) {
  if (!watch_) {
    auto connected = co_await connect_quietly(stage_, control_.peer(), connect_by);
    if (!connected) {
      stage_.tell(StoreLost{connected.error().message, Duration::max(), {}, host_waits_});
      co_return;
    }
    watch_.emplace(*std::move(connected));
  }
  auto failure = co_await await_abort();
  if (!failure) {
    lose(failure.error());
  } else {
    learned_ = true;
    is_last_ = !failure->restart;
    if (!retired_ || !failure->restart) tell(*failure);
    co_await be_heard(failure->restart);
  }
  watches_ = false;
  over_.ring();
}

void RoundWatch::lose(const Error& error) {
  lost_ = true;
  // The will stands: a host that was only asleep must hear that this node is gone.
  has_will_ = false;
  if (waits_for_store_ && !aborted_) return control_.close();
  if (failed_) return watching_.start(learn_what_failed());
  // If the host has ended, so has control_, which may still hold the news that all nodes have ended.
  if (leaves_ && host_waits_)
    return error.code == ErrorCode::closed ? watching_.start(watch_again()) : control_.close();
  tell_loss(error, host_waits_);
}

// By then the session would have found out that the host has ended.
void RoundWatch::tell_loss(const Error& error, bool host_waits) {
  StoreLost loss{error.message, place_.grace, stood_still_, host_waits};
  if (!place_.host_may_move || error.code != ErrorCode::closed) return stage_.tell(std::move(loss));
  watching_.start(tell_late(std::move(loss)));
}

Talk<void> RoundWatch::tell_late(StoreLost loss) {
  auto pause = stage_.until(later(stage_.moment(), quick_answer));
  co_await pause;
  stage_.tell(std::move(loss));
}

void RoundWatch::expect_another_round() { watching_.give_up(); }

void RoundWatch::tell(Failure failure) {
  if (!alone_) stage_.tell(PeerFailed{std::move(failure)});
}

void RoundWatch::forget_store() {
  watching_.give_up();
  leaving_.give_up();
  lost_ = true;
  has_will_ = false;
  control_.close();
}

// The host has closed only this connection, if it had heard nothing there for long because this machine slept.
Talk<void> RoundWatch::watch_again() {
  auto connected = co_await connect_quietly(stage_, control_.peer(), later(stage_.moment(), quick_answer));
  if (!connected) co_return;  // then control_ tells
  lost_ = false;
  watch_.emplace(*std::move(connected));
  auto failure = co_await await_abort();
  if (failure) co_return tell(*failure);
  lost_ = true;
  if (failed_) co_return co_await learn_what_failed();  // control_ has told all that it knows
  if (failure.error().code != ErrorCode::closed) control_.close();
}

Talk<bool> RoundWatch::was_lost(Time by) {
  while (watches_ && !aborted_ && !lost_ && stage_.moment() < by) {
    auto over = over_.rung(by);
    co_await over;
  }
  co_return waits_for_store_ && !aborted_;
}

Talk<Result<Failure>> RoundWatch::await_abort() {
  if (beats()) watch_->set_patience(heartbeat_.patience);
  while (true) {
    auto renewed = co_await renew_will();
    if (!renewed) co_return renewed.error();
    Operation wait = AwaitKeys{KeyList(1, abort_key(place_.prefix))};
    const Time asked = stage_.moment();
    auto waited = co_await watch_->perform(std::move(wait), next_beat());
    // If this process had been awake, it would have given up by itself before.
    const bool slept = beats() && stage_.moment() > later(asked, heartbeat_.silence);
    if (!waited && slept) stood_still_ = stage_.moment() - asked;
    if (!waited) co_return waited.error();
    if (std::holds_alternative<Done>(*waited)) break;
  }
  aborted_ = true;
  over_.ring();
  co_return co_await learn_abort(*watch_, place_.prefix, place_.node_rank, patience());
}

Talk<Status> RoundWatch::renew_will() {
  while (auto will = std::exchange(new_will_, std::nullopt)) {
    has_will_ = !will->empty();
    Operation leave = LeaveWill{*std::move(will)};
    auto left = co_await watch_->perform(std::move(leave), patience());
    if (!left) co_return left.error();
  }
  co_return Status();
}

// The round has failed, but the will stands, so the store must still hear of this node: until the job has ended, or
// until the next round has its will.
Talk<void> RoundWatch::be_heard(bool goes_on) {
  while (has_will_) {
    Operation wait = AwaitKeys{KeyList(1, together_key(place_.prefix))};
    auto waited = co_await watch_->perform(std::move(wait), next_beat());
    if (!waited && goes_on) co_return lose(waited.error());
    lost_ = lost_ || !waited;
    if (!waited || std::holds_alternative<Done>(*waited)) co_return;
  }
}

Talk<void> RoundWatch::learn_what_failed() {
  auto failure = co_await learn_abort(control_, place_.prefix, place_.node_rank, later(stage_.moment(), quick_answer));
  if (failure) co_return tell(*failure);
  stage_.tell(StoreLost{failure.error().message, place_.grace, stood_still_, true});
}

Talk<void> RoundWatch::read_out(Time by) {
  while (leaves_ && !out_ && stage_.moment() < by) {
    auto ended = heard_out_.rung(by);
    co_await ended;
  }
}

Talk<void> RoundWatch::leave(std::optional<Duration> patience, std::function<void()> on_counted) {
  co_await pass_barrier(patience, std::move(on_counted));
  out_ = true;
  heard_out_.ring();
}

Talk<void> RoundWatch::pass_barrier(std::optional<Duration> patience, std::function<void()> on_counted) {
  ExitBarrier barrier(place_.prefix, place_.nnodes, patience, stage_.report_interval());
  auto passed = co_await pass(control_, std::move(barrier), std::move(on_counted));
  if (passed && passed->failed) {
    failed_ = true;
    if (lost_) co_await learn_what_failed();
    co_return;  // else PeerFailed comes, or has come
  }
  if (!passed && host_waits_) {
    lost_ = true;
    co_return tell_loss(passed.error(), true);
  }
  if (passed && !passed->everybody)
    stage_.say(Say::Level::warning, fmt::format("some nodes have not finished {} after this one; leaving without them",
                                                to_text(exit_barrier_timeout)));
  passed_ = true;
  stage_.tell(BarrierDone{});
}

}  // namespace launch
