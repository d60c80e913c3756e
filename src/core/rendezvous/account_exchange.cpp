#include "launch/core/rendezvous/account_exchange.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration answer_time = 2s;      // what a live store needs for a round trip
constexpr Duration gathering_share = 1s;  // how much longer the others wait than the node that gathers
constexpr Duration look_again = 2s;       // whether the node that gathers is still there
constexpr Duration first_report = 1s;

const char* const no_account = "gone";

}  // namespace

SetKeys leave_no_account(const ExchangePlace& place) {
  return SetKeys{{{account_key(place.prefix, place.node_rank.value), no_account}}};
}

SetKeys leave_account(const ExchangePlace& place, const Account& own) {
  if (place.gatherer == place.node_rank) return leave_no_account(place);
  return SetKeys{{{account_key(place.prefix, place.node_rank.value), to_json(own)},
                  {read_key(place.prefix, place.node_rank.value), "1"}}};
}

AccountExchange::AccountExchange(ExchangePlace place, Account own, Duration report_interval)
    : place_(std::move(place)), all_(std::move(own)), report_interval_(report_interval) {}

ExchangeStep AccountExchange::ask(State state, Operation operation, Time deadline) {
  state_ = state;
  deadline_ = deadline;
  return {std::move(operation), std::nullopt};
}

ExchangeStep AccountExchange::start(Time now) {
  report_ = later(now, first_report);
  SetKeys tell{{{account_key(place_.prefix, place_.node_rank.value), to_json(all_)}}};
  return ask(State::telling, std::move(tell), later(now, answer_time));
}

ExchangeStep AccountExchange::on(const Outcome& outcome, Time now) {
  const bool gathers = place_.gatherer == place_.node_rank;
  switch (state_) {
    case State::telling:
      if (hurried_) return gathers ? ExchangeStep() : acknowledge(now);
      return gathers ? wait(now) : receive(now);
    case State::waiting:
      if (std::holds_alternative<Done>(outcome)) return read(awaited(), now);
      return ask(State::looking, CheckKeys{awaited()}, later(now, answer_time));
    case State::looking:
      return looked(std::get<Presence>(outcome).present, now);
    case State::reading:
      return publish(std::get<Values>(outcome).values, now);
    case State::publishing:
      if (readers_.empty() || hurried_) return {};
      return ask(State::being_read, AwaitKeys{std::move(readers_)}, later(now, answer_time));
    case State::receiving:
      if (std::holds_alternative<WaitExpired>(outcome)) return expired(now);
      return ask(State::fetching, GetKeys{{together_key(place_.prefix)}}, later(now, answer_time));
    case State::doubting:
      return doubted(std::get<Values>(outcome).values.at(0), now);
    case State::fetching:
      if (auto all = parse_account(std::get<Values>(outcome).values.at(0))) all_ = *std::move(all);
      return acknowledge(now);
    case State::being_read:
    case State::acknowledging:
      return {};
  }
  return {};
}

// ---- the node that gathers

KeyList AccountExchange::awaited() const {
  KeyList keys;
  for (const NodeRank node : place_.others) keys.push_back(account_key(place_.prefix, node.value));
  return keys;
}

ExchangeStep AccountExchange::wait(Time now) {
  if (place_.others.empty()) return publish({}, now);
  return ask(State::waiting, AwaitKeys{awaited()}, std::min(place_.deadline, later(now, report_interval_)));
}

ExchangeStep AccountExchange::looked(const std::vector<bool>& present, Time now) {
  KeyList there;
  for (std::size_t i = 0; i < place_.others.size(); ++i)
    if (present.at(i)) there.push_back(account_key(place_.prefix, place_.others[i].value));
  if (there.size() == place_.others.size() || hurried_ || now >= place_.deadline) return read(std::move(there), now);
  ExchangeStep step = wait(now);
  step.waiting = {static_cast<int>(there.size()) + 1, static_cast<int>(place_.others.size()) + 1};
  return step;
}

ExchangeStep AccountExchange::read(KeyList present, Time now) {
  if (present.empty()) return publish({}, now);
  return ask(State::reading, GetKeys{std::move(present)}, later(now, answer_time));
}

ExchangeStep AccountExchange::publish(const std::vector<std::string>& accounts, Time now) {
  for (const std::string& text : accounts) {
    const auto account = parse_account(text);
    if (!account || account->nodes.size() != 1) continue;  // that node has left or is lost
    readers_.push_back(read_key(place_.prefix, account->nodes.front()));
    merge(all_, *account);
  }
  return ask(State::publishing, SetKeys{{{together_key(place_.prefix), to_json(all_)}}}, later(now, answer_time));
}

// ---- the others

ExchangeStep AccountExchange::receive(Time now) {
  const Time give_up = later(place_.deadline, gathering_share);
  return ask(State::receiving, AwaitKeys{{together_key(place_.prefix)}}, std::min(give_up, later(now, look_again)));
}

ExchangeStep AccountExchange::expired(Time now) {
  if (hurried_ || now >= later(place_.deadline, gathering_share)) return acknowledge(now);
  return ask(State::doubting, GetKeys{{account_key(place_.prefix, place_.gatherer.value)}}, later(now, answer_time));
}

ExchangeStep AccountExchange::doubted(const std::string& of_gatherer, Time now) {
  if (hurried_ || of_gatherer == no_account) return acknowledge(now);
  ExchangeStep step = receive(now);
  if (now < report_) return step;
  report_ = later(now, report_interval_);
  step.waiting = ExchangeStep::Waiting();
  return step;
}

ExchangeStep AccountExchange::acknowledge(Time now) {
  SetKeys read{{{read_key(place_.prefix, place_.node_rank.value), "1"}}};
  return ask(State::acknowledging, std::move(read), later(now, answer_time));
}

}  // namespace launch
