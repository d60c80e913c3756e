#include "launch/core/node/node.hpp"

#include "launch/core/agent/agent_settings.hpp"
#include "launch/core/session/session_factory.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

Duration grace_of(const AgentEvent& event) {
  if (const auto* lost = std::get_if<StoreLost>(&event)) return lost->grace;
  if (const auto* changed = std::get_if<MembersChanged>(&event)) return changed->grace;
  return Duration::max();
}

// The event is about one round, so it must not be taken for news of the next one.
bool belongs_to_a_round(const AgentEvent& event) {
  const auto* failed = std::get_if<PeerFailed>(&event);
  return (failed != nullptr && failed->failure.restart) || std::holds_alternative<MembersChanged>(event) ||
         std::holds_alternative<AllGone>(event) || std::holds_alternative<BarrierDone>(event) ||
         std::holds_alternative<RendezvousDone>(event) || std::holds_alternative<RendezvousFailed>(event);
}

// This node never reached the others, or has lost the connection to them.
bool is_alone_with(const Failure& first) {
  return first.kind == Failure::Kind::rendezvous || first.kind == Failure::Kind::store;
}

}  // namespace

Node::Node(const Config& config, const SessionFacts& facts)
    : agent_(agent_settings(config)), session_(make_session(config, facts)) {}

NodeActions Node::on(NodeEvent event, const Moment& moment) {
  moment_ = moment;
  std::visit([this](auto& one) { handle(std::move(one)); }, event);
  work();
  return std::exchange(actions_, {});
}

Time Node::deadline() const {
  const bool listens = !busy() && todo_.empty();
  return std::min(session_->deadline(), listens ? agent_.deadline() : never);
}

std::optional<Time> Node::kills_at() const {
  return agent_.stopping() ? std::optional(agent_.deadline()) : std::nullopt;
}

// ---- events

void Node::handle(StartNode /*event*/) {
  for (AgentAction& action : agent_.start(moment_.now.time)) todo_.push_back(std::move(action));
}

void Node::handle(FromHost event) {
  if (auto* warned = std::get_if<Warned>(&event.event)) warned->may_leave = round_.may_leave;
  const bool signal = std::holds_alternative<SignalReceived>(event.event);
  if (std::holds_alternative<GuardLost>(event.event) || (signal && ending_)) feed_session(HurrySession{});
  inbox_.insert(event.first ? inbox_.begin() : inbox_.end(), std::move(event.event));
}

void Node::handle(CarriedOut /*event*/) {
  carrying_ = false;
  if (std::exchange(leaving_, false)) feed_session(EnterExitBarrier{});
}

void Node::handle(Concluded event) {
  if (!ending_->first || is_alone_with(*ending_->first)) return report(std::move(event.own));
  feed_session(ShareAccount{std::move(event.own), *ending_->first});
}

void Node::report(Account account) { act(Report{*ending_, std::move(account), round_, formed_}); }

void Node::handle(Reported /*event*/) { feed_session(EndSession{ending_->first.has_value()}); }

// ---- the session

void Node::feed_session(const SessionEvent& event) {
  for (SessionAction& action : session_->on(event, moment_))
    std::visit([this](auto& one) { take(std::move(one)); }, action);
}

void Node::take(Tell action) {
  const Duration grace = grace_of(action.event);
  if (grace != Duration::max()) act(LimitGrace{grace});  // it cannot wait until the agent reads it
  inbox_.insert(action.first ? inbox_.begin() : inbox_.end(), std::move(action.event));
}

void Node::take(const ForgetRound& /*action*/) { std::erase_if(inbox_, belongs_to_a_round); }

void Node::take(const OthersTold& /*action*/) {
  telling_ = false;
  if (std::exchange(held_, false)) inbox_.push_back(AllGone{});
}

void Node::take(const SessionEnded& /*action*/) { act(Exit{ending_->exit_code}); }

// ---- the agent

void Node::work() {
  while (!busy() && (todo_.empty() ? hear_next() : carry_out_next())) {
  }
}

// False: the next action must wait until the others have been told.
bool Node::carry_out_next() {
  const AgentAction& next = todo_.front();
  if (telling_ && (std::holds_alternative<TellPeers>(next) || std::holds_alternative<Finish>(next))) return false;
  AgentAction action = std::move(todo_.front());
  todo_.pop_front();
  std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
  return true;
}

// False: there is nothing to hear now.
bool Node::hear_next() {
  if (inbox_.empty()) {
    if (moment_.now.time < agent_.deadline()) return false;
    feed_agent(DeadlineReached{});
    return true;
  }
  const AgentEvent event = std::move(inbox_.front());
  inbox_.pop_front();
  held_ = telling_ && std::holds_alternative<AllGone>(event);
  if (held_) return false;
  if (const auto* failed = std::get_if<PeerFailed>(&event)) act(Heard{failed->failure});
  feed_agent(event);
  return true;
}

void Node::feed_agent(const AgentEvent& event) {
  for (AgentAction& action : agent_.on(event, moment_.now.time)) todo_.push_back(std::move(action));
}

void Node::carry_out(StartRendezvous action) {
  act(action);
  feed_session(JoinRound{action.admits, action.restarts});
}

void Node::carry_out(StopRendezvous /*action*/) { feed_session(StopJoining{}); }

void Node::carry_out(AnnounceRound action) {
  carrying_ = true;
  act(std::move(action));
}

void Node::carry_out(StartWorkers action) {
  round_ = action.round;
  formed_ = true;
  act(std::move(action));
}

void Node::carry_out(GatherEvidence action) {
  carrying_ = true;
  act(action);
}

// The agent's deadline may have passed while evidence was gathered, but the workers have not had their time yet.
void Node::carry_out(SignalWorkers action) {
  act(std::move(action));
  feed_agent(Signalled{});
}

void Node::carry_out(TellPeers action) {
  telling_ = true;
  feed_session(TellOthers{std::move(action.failure)});
}

void Node::carry_out(EnterBarrier action) {
  carrying_ = leaving_ = true;
  act(action);
}

void Node::carry_out(Finish action) {
  ending_ = action;
  act(Conclude{std::move(action)});
}

}  // namespace launch
