#include "launch/core/session/worker_meeting.hpp"

#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration look_again = 1s;  // when to try again a place that may answer by then

}  // namespace

// The keys of the round before are gone before any node exchanges its ranks, and so before any worker starts. The
// workers of that round have ended, since every node has left it.
Talk<Result<Endpoint>> WorkerMeeting::agree(StoreLink& control, RoundFormed formed, std::string own_address) {
  fenced_.reset();
  if (formed.rank == NodeRank(0)) co_return co_await lead(control, formed.round, std::move(own_address));
  if (!is_launch(formed.leader) && config_.serves_workers)
    co_return co_await follow_torchrun(control, std::move(formed));
  const Time deadline = later(stage_.moment(), settings_.join_timeout);
  co_return co_await read_master(control, formed.round, deadline);
}

Talk<Result<Endpoint>> WorkerMeeting::lead(StoreLink& control, std::int64_t round, std::string own_address) {
  auto master = co_await open_store(std::move(own_address));
  if (!master) co_return master.error();
  if (port_ != 0 && std::exchange(fenced_, round) != round) stage_.act(FenceStore{OwnStore::workers});
  auto told = co_await say_master(control, round, *master);
  if (!told) co_return told.error();
  co_return *master;
}

Talk<Result<Endpoint>> WorkerMeeting::follow_torchrun(StoreLink& control, RoundFormed formed) {
  const NodeDesc leader = formed.leader;
  const std::int64_t round = formed.round;
  if (!masters_.contains(leader)) {
    auto found = co_await find_master(control, std::move(formed));
    if (!found) co_return found;
    masters_.emplace(leader, *found);
  }
  const Endpoint master = masters_.at(leader);
  if (round == 0) co_return master;
  const Status cleared = co_await clear_foreign_store(master);
  if (!cleared)
    stage_.say(Say::Level::warning,
               "the keys of the last workers remain in torchrun's store: " + cleared.error().message);
  // A torchrun agent that has just joined looks under this round, but its leader writes only in the first one that it
  // led.
  auto told = co_await say_master(control, round, master);
  if (!told) co_return told.error();
  co_return master;
}

Talk<void> WorkerMeeting::say_late(StoreLink& control, RoundFormed formed, std::string own_address) {
  if (formed.rank == NodeRank(0)) {
    (void)co_await lead(control, formed.round, std::move(own_address));
  } else if (const auto known = masters_.find(formed.leader); known != masters_.end() && formed.round > 0) {
    (void)co_await say_master(control, formed.round, known->second);
  }
}

Talk<Status> WorkerMeeting::say_master(StoreLink& control, std::int64_t round, Endpoint master) {
  const KeyList keys = master_keys(round);
  Operation set = SetKeys{{{keys[0], master.host}, {keys[1], std::to_string(master.port)}}};
  auto told = co_await control.perform(std::move(set), later(stage_.moment(), settings_.join_timeout));
  if (!told) co_return told.error();
  co_return Status();
}

KeyList WorkerMeeting::master_keys(std::int64_t round) const {
  return meeting_keys(round_prefix(config_.run_id, round));
}

// Where the leader of this round lets the workers meet: written in this round or, by a torchrun agent, in an earlier
// one. If the place can be known, it is found at once: torchrun's agents, which wait for this node's role, write no
// heartbeat meanwhile.
Talk<Result<Endpoint>> WorkerMeeting::find_master(StoreLink& control, RoundFormed formed) {
  const Time deadline = later(stage_.moment(), settings_.join_timeout);
  if (formed.round == 0) co_return co_await read_master(control, formed.round, deadline);
  while (true) {
    auto said = co_await look_for_places(control, formed.round, deadline);
    if (!said) co_return said.error();
    const bool in_this_round = !said->empty() && said->front().round == formed.round;
    for (const Endpoint& place : places_to_try(*said, formed.round, formed.leader.addr)) {
      if (in_this_round) co_return place;
      auto store = co_await connect_quietly(stage_, place, std::min(deadline, later(stage_.moment(), quick_answer)));
      if (store) co_return place;
    }
    const Time next_look = std::min(deadline, later(stage_.moment(), look_again));
    auto master = co_await read_master(control, formed.round, next_look);
    if (master || master.error().code != ErrorCode::timeout || stage_.moment() >= deadline) co_return master;
  }
}

// Newest round first.
Talk<Result<std::vector<SaidPlace>>> WorkerMeeting::look_for_places(StoreLink& control, std::int64_t round,
                                                                    Time deadline) {
  const std::vector<std::int64_t> rounds = rounds_to_look_in(round);
  KeyList ports;
  for (const std::int64_t at : rounds) ports.push_back(master_keys(at)[1]);  // which is written last
  auto present = co_await control.check(std::move(ports), deadline);
  if (!present) co_return present.error();
  std::vector<SaidPlace> places;
  KeyList said;
  for (std::size_t index = 0; index < rounds.size(); ++index) {
    if (!present->at(index)) continue;
    places.push_back({rounds[index], "", ""});
    for (std::string& key : master_keys(rounds[index])) said.push_back(std::move(key));
  }
  if (places.empty()) co_return places;
  auto values = co_await control.get(std::move(said), deadline);
  if (!values) co_return values.error();
  for (std::size_t index = 0; index < places.size(); ++index) {
    places[index].host = values->at(2 * index);
    places[index].port = values->at(2 * index + 1);
  }
  co_return places;
}

Talk<Result<Endpoint>> WorkerMeeting::read_master(StoreLink& control, std::int64_t round, Time deadline) {
  const KeyList keys = master_keys(round);
  Operation wait = AwaitKeys{keys};
  auto waited = co_await control.perform(std::move(wait), deadline);
  if (!waited) co_return waited.error();
  if (std::holds_alternative<WaitExpired>(*waited))
    co_return Error{ErrorCode::timeout, "the node of rank 0 does not say where the workers meet"};
  auto values = co_await control.get(keys, later(stage_.moment(), settings_.join_timeout));
  if (!values) co_return values.error();
  co_return parse_meeting_place(values->at(0), values->at(1));
}

// Uses one port for all rounds: torchrun's agents keep the address of their first one.
Talk<Result<Endpoint>> WorkerMeeting::open_store(std::string own_address) {
  if (!config_.serves_workers) {
    Question find = FindFreePort{};
    auto finding = stage_.ask<std::uint16_t>(std::move(find));
    const std::uint16_t port = co_await finding;
    co_return Endpoint{own_address, port};
  }
  if (port_ == 0) {
    Question listen = Listen{OwnStore::workers, {own_address, 0}};
    auto listening = stage_.ask<Listening>(std::move(listen));
    const Listening opened = co_await listening;
    if (!opened.status) co_return opened.status.error();
    port_ = opened.port;
  }
  co_return Endpoint{own_address, port_};
}

// The machine of torchrun's agent may stand still, but not for so long that the others go on without it. All wait for
// the ranks of this node meanwhile.
Talk<Status> WorkerMeeting::clear_foreign_store(Endpoint master) {
  const Duration patience = settings_.keep_alive_interval * (settings_.keep_alive_max_attempt - 1);
  const Time deadline = later(stage_.moment(), std::max(patience, quick_answer));
  auto link = co_await knock(stage_, master, deadline);
  if (link) co_return co_await remove_all_keys(*link, deadline);
  if (link.error().code != ErrorCode::no_listener) co_return link.error();
  const Time soon = later(stage_.moment(), quick_answer);  // no worker can meet there as long as nobody listens
  auto late = co_await connect_quietly(stage_, master, soon);
  if (!late) co_return late.error();
  co_return co_await remove_all_keys(*late, soon);
}

}  // namespace launch
