#include "launch/core/session/session.hpp"

#include <utility>

namespace launch {

Session::Session(const Config& config, const SessionFacts& facts)
    : config_(config), stage_(facts.seed), asks_(stage_, config.answers_asks) {}

Session::~Session() = default;

SessionActions Session::on(const SessionEvent& event, const Moment& moment) {
  stage_.begin(moment);
  std::visit([this](const auto& one) { handle(one); }, event);
  stage_.run();
  return stage_.take_actions();
}

void Session::handle(const OpenSession& /*event*/) { stage_.start(open_and_say()); }

void Session::handle(const JoinRound& event) {
  asks_.stop();
  join(event);
}

void Session::handle(const TellOthers& event) { stage_.start(tell_and_say(event.failure)); }

void Session::handle(const ShareAccount& event) { stage_.start(share_and_say(event.own, event.first)); }

void Session::handle(const EndSession& event) { stage_.start(end_and_say(event.failed)); }

Talk<void> Session::open_and_say() {
  Status opened = co_await open();
  stage_.act(SessionOpened{std::move(opened)});
}

Talk<void> Session::tell_and_say(Failure failure) {
  co_await tell(std::move(failure));
  stage_.act(OthersTold{});
}

Talk<void> Session::share_and_say(Account own, Failure first) {
  Account all = co_await share(std::move(own), std::move(first));
  stage_.act(AccountShared{std::move(all)});
}

Talk<void> Session::end_and_say(bool failed) {
  asks_.stop();  // before this node waits until nobody talks to its store any more
  co_await end(failed);
  stage_.act(SessionEnded{});
}

}  // namespace launch
