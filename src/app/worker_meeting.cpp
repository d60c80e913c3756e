#include "launch/app/worker_meeting.hpp"

#include "launch/app/conversations.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration look_again = 1s;  // for a place that may answer by now

}  // namespace

WorkerMeeting::WorkerMeeting(const asio::any_io_executor& executor, const Config& config)
    : config_(config), store_(executor, log_refusal), random_(random_seed()) {}

// Before anybody answers for its ranks, and so before any worker starts, the keys of the round before are gone: its
// workers have ended, since every node has left it.
asio::awaitable<Result<Endpoint>> WorkerMeeting::agree(StoreClient& control, RoundFormed formed,
                                                       std::string own_address) {
  const NodeDesc leader = formed.leader;
  if (formed.rank == 0) {
    auto master = open_store(own_address);
    if (!master) co_return master.error();
    if (store_.port() != 0) store_.fence();
    auto told = co_await say_master(control, formed.round, *master);
    if (!told) co_return told.error();
    co_return *master;
  }
  if (is_launch(leader) || !config_.serves_workers) {
    auto said = co_await read_master(control, formed.round, later(now(), config_.elastic->settings.join_timeout));
    co_return said;
  }
  if (!masters_.contains(leader)) {
    auto found = co_await find_master(control, formed);
    if (!found) co_return found;
    masters_.emplace(leader, *found);
  }
  const Endpoint master = masters_.at(leader);
  if (formed.round == 0) co_return master;
  const Status cleared = co_await clear_foreign_store(master);
  if (!cleared) log_warning("the last workers' keys stay in torchrun's store: " + cleared.error().message);
  // A torchrun agent that has just come looks for it under this round, but its leader says it in its first one only.
  auto told = co_await say_master(control, formed.round, master);
  if (!told) co_return told.error();
  co_return master;
}

asio::awaitable<void> WorkerMeeting::say_late(StoreClient& control, RoundFormed formed, std::string own_address) {
  std::optional<Endpoint> master;
  if (formed.rank == 0) {
    if (auto own = open_store(own_address)) master = *own;
  } else if (const auto known = masters_.find(formed.leader); known != masters_.end() && formed.round > 0) {
    master = known->second;
  }
  if (master) (void)co_await say_master(control, formed.round, *master);
}

asio::awaitable<Status> WorkerMeeting::say_master(StoreClient& control, std::int64_t round, Endpoint master) {
  const KeyList keys = master_keys(round);
  Operation set = SetKeys{{{keys[0], master.host}, {keys[1], std::to_string(master.port)}}};
  auto told = co_await control.perform(std::move(set), later(now(), quick_answer));
  if (!told) co_return told.error();
  co_return Status();
}

KeyList WorkerMeeting::master_keys(std::int64_t round) const {
  return meeting_keys(round_prefix(config_.run_id, round));
}

// Where the leader of this round lets the workers meet, said in this round or, by a torchrun agent, in an earlier one.
// At once, where it can be known: torchrun's agents, who wait for this node's role, write no heartbeat meanwhile.
asio::awaitable<Result<Endpoint>> WorkerMeeting::find_master(StoreClient& control, RoundFormed formed) {
  const Time deadline = later(now(), config_.elastic->settings.join_timeout);
  if (formed.round == 0) co_return co_await read_master(control, formed.round, deadline);
  while (true) {
    auto said = co_await look_for_places(control, formed.round, deadline);
    if (!said) co_return said.error();
    const bool in_this_round = !said->empty() && said->front().round == formed.round;
    for (const Endpoint& place : places_to_try(*said, formed.round, formed.leader.addr)) {
      if (in_this_round) co_return place;
      auto store = co_await connect_quietly(place, std::min(deadline, later(now(), quick_answer)), random_);
      if (store) co_return place;
    }
    const Time next_look = std::min(deadline, later(now(), look_again));
    auto master = co_await read_master(control, formed.round, next_look);
    if (master || master.error().code != ErrorCode::timeout || now() >= deadline) co_return master;
  }
}

// Newest round first.
asio::awaitable<Result<std::vector<SaidPlace>>> WorkerMeeting::look_for_places(StoreClient& control, std::int64_t round,
                                                                               Time deadline) {
  const std::vector<std::int64_t> rounds = rounds_to_look_in(round);
  CheckKeys ports;
  for (const std::int64_t at : rounds) ports.keys.push_back(master_keys(at)[1]);  // which is written last
  Operation look = std::move(ports);
  auto looked = co_await control.perform(std::move(look), deadline);
  if (!looked) co_return looked.error();
  const std::vector<bool>& present = std::get<Presence>(*looked).present;
  std::vector<SaidPlace> places;
  GetKeys said;
  for (std::size_t index = 0; index < rounds.size(); ++index) {
    if (!present.at(index)) continue;
    places.push_back({rounds[index], "", ""});
    for (std::string& key : master_keys(rounds[index])) said.keys.push_back(std::move(key));
  }
  if (places.empty()) co_return places;
  Operation get = std::move(said);
  auto got = co_await control.perform(std::move(get), deadline);
  if (!got) co_return got.error();
  const auto& values = std::get<Values>(*got).values;
  for (std::size_t index = 0; index < places.size(); ++index) {
    places[index].host = values.at(2 * index);
    places[index].port = values.at(2 * index + 1);
  }
  co_return places;
}

asio::awaitable<Result<Endpoint>> WorkerMeeting::read_master(StoreClient& control, std::int64_t round, Time deadline) {
  const KeyList keys = master_keys(round);
  Operation wait = AwaitKeys{keys};
  auto waited = co_await control.perform(std::move(wait), deadline);
  if (!waited) co_return waited.error();
  if (std::holds_alternative<WaitExpired>(*waited))
    co_return Error{ErrorCode::timeout, "the node of rank 0 does not say where the workers are to meet"};
  Operation get = GetKeys{keys};
  auto got = co_await control.perform(std::move(get), later(now(), quick_answer));
  if (!got) co_return got.error();
  const auto& values = std::get<Values>(*got).values;
  co_return parse_meeting_place(values.at(0), values.at(1));
}

// At one port for all rounds: torchrun's agents keep the address of their first one.
Result<Endpoint> WorkerMeeting::open_store(const std::string& own_address) {
  if (!config_.serves_workers) return Endpoint{own_address, free_port()};
  if (store_.port() == 0) {
    if (Status opened = store_.listen(own_address, 0, config_.loopback_only); !opened) return opened.error();
  }
  return Endpoint{own_address, store_.port()};
}

asio::awaitable<Status> WorkerMeeting::clear_foreign_store(Endpoint master) {
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_quietly(master, deadline, random_);
  if (!client) co_return client.error();
  co_return co_await remove_all_keys(*client, deadline);
}

}  // namespace launch
