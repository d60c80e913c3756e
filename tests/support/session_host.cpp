#include "session_host.hpp"

#include "launch/core/session/session_factory.hpp"

#include <utility>

namespace launch::play {

SessionHost::SessionHost(Network& network, std::string host, const Config& config, SessionEars ears)
    : Process(network, std::move(host), [this](Answer answer) { feed(std::move(answer)); }),
      ears_(std::move(ears)),
      session_(make_session(config, {config.pid, network.events().random().next()})) {}

Status SessionHost::open() {
  feed(OpenSession{});
  return *opened_;
}

void SessionHost::feed(SessionEvent event) {
  if (!alive()) return;
  events_.push_back(std::move(event));
  if (std::exchange(feeding_, true)) return;
  while (alive() && !events_.empty()) {
    const SessionEvent next = std::move(events_.front());
    events_.pop_front();
    for (SessionAction& action : session_->on(next, moment()))
      std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
  }
  feeding_ = false;
  if (alive()) wake_at(session_->deadline(), [this] { feed(MomentReached{}); });
}

}  // namespace launch::play
