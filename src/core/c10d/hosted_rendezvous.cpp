#include "launch/core/c10d/hosted_rendezvous.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using Wish = Attendance::Wish;

}  // namespace

HostedRendezvous::HostedRendezvous(ElasticSettings settings, Seat seat)
    : settings_(std::move(settings)), seat_(std::move(seat)) {
  if (!seat_.comeback || !seat_.comeback->last.rank.known()) return;
  round_ = seat_.comeback->last.round;
  returns_ = true;
}

// The others that have come know a later round.
void HostedRendezvous::learn(const LastRound& succession) {
  if (!seat_.comeback || seat_.comeback->last.is_after(succession)) return;
  Comeback& back = *seat_.comeback;
  const bool newer = succession.is_after(back.last);
  if (newer) {
    back.host_ended = back.host_ended && succession.store == back.last.store;  // another one may live
    back.last = succession;
    back.ended.clear();
  }
  add_ended(back.ended, succession);
  back.last.ended.clear();
}

ElasticStep HostedRendezvous::start(Instant now) { return next(now.time); }

void HostedRendezvous::join(Time now, int restarts) {
  if (goal_ == Goal::close) return;
  restarts_ = restarts;
  goal_ = Goal::join;
  done_ = false;
  give_up_ = later(now, settings_.join_timeout);
  report_ = later(now, first_elastic_report);
  last_ = {};
}

void HostedRendezvous::finish(LeaveWill then) {
  if (goal_ != Goal::member) return;
  done_ = true;
  will_ = std::move(then);
}

void HostedRendezvous::close(Time now) {
  goal_ = Goal::close;
  give_up_ = later(now, settings_.close_timeout);
}

void HostedRendezvous::leave(Time now, std::string reason) {
  if (goal_ == Goal::close) return;
  goal_ = Goal::leave;
  give_up_ = later(now, settings_.close_timeout);
  reason_ = std::move(reason);
}

Result<ElasticStep> HostedRendezvous::on(const Outcome& outcome, Instant now) {
  if (std::holds_alternative<Done>(outcome)) {
    news_.emplace_back(WillLeft{});  // only a will is answered so: any other wait never ends
  } else if (const auto* told = std::get_if<Told>(&outcome)) {
    auto news = parse_news(told->text);
    if (!news) return news.error();
    take(*news, now.time);
  } else if (goal_ >= Goal::give_up && now.time >= give_up_) {
    end();
  }
  return next(now.time);
}

// An answer to a wish that has changed meanwhile has no effect.
void HostedRendezvous::take(const ElasticNews& news, Time now) {
  if (std::holds_alternative<RoundBroken>(news)) returns_ = false;
  const bool refused = std::holds_alternative<RoundRefused>(news);
  const bool moved = std::holds_alternative<RoundMoved>(news) && goal_ <= Goal::member;
  const bool broken = std::holds_alternative<RoundBroken>(news) && goal_ == Goal::member;
  if (const auto* formed = std::get_if<RoundFormed>(&news); formed != nullptr && goal_ == Goal::join) {
    goal_ = Goal::member;
    round_ = formed->round;
    seat_.comeback.reset();
    seat_.anew = false;
    news_.push_back(news);
  } else if (broken || moved || (refused && goal_ <= Goal::member)) {
    goal_ = Goal::none;
    returns_ = returns_ && !moved;
    news_.push_back(news);
  } else if (const auto* waits = std::get_if<RoundWaits>(&news); waits != nullptr && goal_ == Goal::join) {
    learn(waits->succession);
    RoundWaits waiting = *waits;
    waiting.unasked = now < std::min(report_, give_up_) && !waits->spare;
    if (!waiting.unasked) return report(std::move(waiting), now);
    news_.emplace_back(std::move(waiting));
  } else if (goal_ >= Goal::give_up && (std::holds_alternative<RendezvousEnded>(news) || refused)) {
    end();  // if it was refused, the job does not know this node
  }
}

// A spare stands by for as long as the job runs.
void HostedRendezvous::report(RoundWaits waits, Time now) {
  if (waits.spare || last_.spare) {
    give_up_ = later(now, settings_.join_timeout);
  } else if (now >= give_up_) {
    goal_ = Goal::give_up;
    last_ = waits;
    give_up_ = later(now, settings_.close_timeout);
    return;
  }
  waits.left = give_up_ - now;
  last_ = waits;
  news_.emplace_back(waits);
  report_ = later(now, settings_.report_interval);
}

void HostedRendezvous::end() {
  if (goal_ == Goal::give_up) {
    std::string reason = fmt::format("the rendezvous timed out after {}: ", to_text(settings_.join_timeout));
    reason += last_.awaited > 0 ? too_few(last_.arrived, last_.awaited)
                                : fmt::format("{} of at least {} nodes joined", last_.arrived, settings_.nodes.min);
    news_.emplace_back(RoundRefused{{ErrorCode::timeout, reason}, false, last_.begun && round_ < 0});
  } else {
    news_.emplace_back(RendezvousEnded{});
  }
  goal_ = Goal::none;
}

ElasticStep HostedRendezvous::next(Time now) {
  deadline_ = later(now, store_answer_time);
  if (auto will = std::exchange(will_, std::nullopt)) return {*std::move(will), std::exchange(news_, {})};
  switch (goal_) {
    case Goal::none:
      if (returns_) return attend(Wish::stay, deadline_);
      deadline_ = never;
      return {AwaitKeys{{std::string(never_key)}}, std::exchange(news_, {})};
    case Goal::join:
      if (now >= std::min(report_, give_up_)) return attend(Wish::look, deadline_);
      return attend(Wish::join, std::min(report_, give_up_));
    case Goal::member:
      return attend(Wish::stay, never);
    case Goal::give_up:
    case Goal::leave:
      return attend(Wish::leave, give_up_);
    case Goal::close:
      return attend(Wish::close, give_up_);
  }
  return {};
}

ElasticStep HostedRendezvous::attend(Wish wish, Time deadline) {
  deadline_ = deadline;
  Attendance said{wish,
                  settings_.self,
                  settings_.member,
                  settings_.nodes,
                  settings_.last_call_timeout,
                  settings_.keep_alive_interval * settings_.keep_alive_max_attempt,
                  round_,
                  admits_,
                  goal_ == Goal::leave ? reason_ : "",
                  settings_.common,
                  done_,
                  restarts_,
                  seat_.door,
                  seat_.hosts,
                  seat_.comeback,
                  {},
                  seat_.anew,
                  seat_.lease};
  return {Attend{state_key(settings_.run_id), to_json(said)}, std::exchange(news_, {})};
}

}  // namespace launch
