#include "launch/app/worker_meeting.hpp"

#include "launch/app/conversations.hpp"
#include "launch/core/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration torchrun_says = 3s;  // where its workers are to meet, once it leads a round for the first time
constexpr std::int64_t most_rounds_back = 1000;

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
  const std::string begin = "/" + round_prefix(config_.run_id, round);
  return {begin + "/MASTER_ADDR", begin + "/MASTER_PORT"};
}

// Where the leader of this round lets the workers meet, said in this round or, by a torchrun agent, in an earlier one.
asio::awaitable<Result<Endpoint>> WorkerMeeting::find_master(StoreClient& control, const RoundFormed& formed) {
  const Time deadline = later(now(), config_.elastic->settings.join_timeout);
  if (formed.round == 0) co_return co_await read_master(control, formed.round, deadline);
  const Time first_look = std::min(deadline, later(now(), torchrun_says));
  auto master = co_await read_master(control, formed.round, first_look);
  for (std::int64_t back = 1; back <= std::min(formed.round, most_rounds_back) && !master; ++back) {
    master = co_await read_master(control, formed.round - back, now());
    if (master && master->host != formed.leader.addr) master = Error{ErrorCode::timeout, "another's"};
  }
  if (master) co_return master;
  co_return co_await read_master(control, formed.round, deadline);
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
  const auto port = parse_int(values.at(1));
  if (values.at(0).empty() || !port || *port < 1 || *port > 65'535)
    co_return protocol_error(fmt::format("the node of rank 0 lets the workers meet at {}:{}, which is no address",
                                         shown(values.at(0)), shown(values.at(1))));
  co_return Endpoint{values.at(0), static_cast<std::uint16_t>(*port)};
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
