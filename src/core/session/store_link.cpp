#include "launch/core/session/store_link.hpp"

#include "launch/core/base/backoff.hpp"

#include <algorithm>
#include <utility>

namespace launch {
using namespace std::chrono_literals;

StoreLink::StoreLink(Stage& stage, LinkId id, const Opened& opened)
    : stage_(&stage), id_(id), heard_at_(stage.moment()), peer_(opened.peer), own_address_(opened.own_address) {}

StoreLink::StoreLink(StoreLink&& other) noexcept
    : stage_(other.stage_),
      id_(std::exchange(other.id_, 0)),
      hung_up_(other.hung_up_),
      lived_at_(other.lived_at_),
      heard_at_(other.heard_at_),
      peer_(std::move(other.peer_)),
      own_address_(std::move(other.own_address_)) {}

Talk<Result<Outcome>> StoreLink::perform(Operation operation, Time deadline) {
  if (id_ == 0) co_return Error{ErrorCode::closed, "the connection was closed"};
  Question question = AskStore{id_, std::move(operation), deadline};
  auto asking = stage_->ask<Answered>(std::move(question));
  Answered answered = co_await asking;
  hung_up_ = hung_up_ || answered.hung_up;
  lived_at_ = std::max(lived_at_, answered.lived_at);
  heard_at_ = std::max(heard_at_, answered.heard_at);
  co_return std::move(answered.outcome);
}

Talk<Result<std::vector<std::string>>> StoreLink::get(KeyList keys, Time deadline) {
  Operation operation = GetKeys{std::move(keys)};
  auto got = co_await perform(std::move(operation), deadline);
  if (!got) co_return got.error();
  co_return std::get<Values>(*std::move(got)).values;
}

Talk<Result<std::vector<bool>>> StoreLink::check(KeyList keys, Time deadline) {
  Operation operation = CheckKeys{std::move(keys)};
  auto checked = co_await perform(std::move(operation), deadline);
  if (!checked) co_return checked.error();
  co_return std::get<Presence>(*std::move(checked)).present;
}

Talk<Status> StoreLink::set(std::string key, std::string value, Time deadline) {
  SetKeys entry;
  entry.entries.emplace_back(std::move(key), std::move(value));
  Operation operation = std::move(entry);
  auto done = co_await perform(std::move(operation), deadline);
  if (!done) co_return done.error();
  co_return Status();
}

void StoreLink::set_patience(Duration patience) {
  if (id_ != 0) stage_->act(Beat{id_, std::nullopt, patience});
}

void StoreLink::set_beats(Duration interval, Duration patience) {
  if (id_ != 0) stage_->act(Beat{id_, interval, patience});
}

void StoreLink::part() {
  if (id_ != 0) stage_->act(PartLink{std::exchange(id_, 0)});
}

void StoreLink::wake() {
  if (id_ != 0) stage_->act(WakeLink{id_});
}

void StoreLink::close() {
  if (id_ != 0) stage_->act(CloseLink{std::exchange(id_, 0)});
}

void StoreLink::abandon() {
  if (id_ != 0) stage_->act(CloseLink{std::exchange(id_, 0), true});
}

Talk<Result<StoreLink>> knock(Stage& stage, Endpoint endpoint, Time deadline) {
  const LinkId id = stage.new_link();
  Question question = OpenLink{id, std::move(endpoint), deadline};
  auto opening = stage.ask<Opened>(std::move(question));
  const Opened opened = co_await opening;
  if (!opened.status) co_return opened.status.error();
  co_return StoreLink(stage, id, opened);
}

Talk<Result<StoreLink>> try_to_connect(Stage& stage, Endpoint endpoint, Time deadline,
                                       std::function<void(const Error&)> on_retry) {
  Backoff backoff(10ms, 1s, stage.random());
  while (true) {
    auto link = co_await knock(stage, endpoint, deadline);
    if (link) co_return *std::move(link);
    const Error& reason = link.error();
    const Time next = later(stage.moment(), backoff.next());
    if (next >= deadline) co_return Error{ErrorCode::timeout, reason.message};
    on_retry(reason);
    auto pause = stage.until(next);
    co_await pause;
  }
}

// The user was told when this gives up.
Talk<Result<StoreLink>> connect_to_store(Stage& stage, Endpoint endpoint, Time deadline,
                                         std::function<void(const Error&)> on_retry) {
  auto connected = co_await try_to_connect(stage, std::move(endpoint), deadline, std::move(on_retry));
  if (!connected) {
    auto rest = stage.until(deadline);
    co_await rest;
  }
  co_return std::move(connected);
}

Talk<Result<StoreLink>> connect_quietly(Stage& stage, Endpoint endpoint, Time deadline) {
  const std::function<void(const Error&)> say_nothing = [](const Error&) {};
  co_return co_await try_to_connect(stage, std::move(endpoint), deadline, say_nothing);
}

}  // namespace launch
