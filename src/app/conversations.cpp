#include "launch/app/conversations.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/rendezvous/other_jobs.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t keys_at_once = 1000;
constexpr int few_nodes = 8;

}  // namespace

asio::awaitable<Result<StoreClient>> connect_quietly(Endpoint endpoint, Time deadline, Random& random) {
  const std::function<void(const Error&)> say_nothing = [](const Error&) {};
  co_return co_await connect_to_store(std::move(endpoint), deadline, random, say_nothing);
}

void announce_wait_for_port(std::uint16_t port) {
  log_progress(fmt::format("waiting until port {} is free: a connection that has ended keeps it for up to a minute",
                           port));
}

asio::awaitable<Result<Round>> form(StoreClient& client, StaticRendezvous& machine,
                                    std::function<void(const Waiting&)> on_waiting, std::function<void()> fence) {
  RendezvousStep step = machine.start(now());
  while (true) {
    if (step.waiting) on_waiting(*step.waiting);
    if (auto* error = std::get_if<Error>(&step.next)) co_return std::move(*error);
    if (auto* round = std::get_if<Round>(&step.next)) co_return std::move(*round);
    if (std::holds_alternative<Fence>(step.next)) {
      fence();
      step = machine.on(Done{}, now());
      continue;
    }
    Operation operation = std::get<Operation>(std::move(step.next));
    auto outcome = co_await client.perform(std::move(operation), machine.deadline());
    if (!outcome) co_return outcome.error();
    step = machine.on(*outcome, now());
  }
}

asio::awaitable<Result<bool>> pass(StoreClient& client, ExitBarrier barrier, std::function<void()> on_counted,
                                   std::function<void(int)> on_waiting) {
  BarrierStep step = barrier.start(now());
  bool counted = false;
  while (auto* operation = std::get_if<Operation>(&step.next)) {
    if (step.arrived) on_waiting(*step.arrived);
    auto outcome = co_await client.perform(std::move(*operation), barrier.deadline());
    if (!outcome) co_return outcome.error();
    if (!std::exchange(counted, true)) on_counted();
    step = barrier.on(*outcome, now());
  }
  co_return std::get<BarrierPassed>(step.next).everybody;
}

asio::awaitable<Result<std::string>> await_claim(StoreClient& client, std::string run_id, int node, Time deadline) {
  const KeyList keys(1, claim_key(run_id, node));
  Operation wait = AwaitKeys{keys};
  auto waited = co_await client.perform(std::move(wait), deadline);
  if (!waited) co_return waited.error();
  if (std::holds_alternative<WaitExpired>(*waited)) co_return Error{ErrorCode::timeout, "nobody claims the rank"};
  Operation get = GetKeys{keys};
  auto got = co_await client.perform(std::move(get), deadline);
  if (!got) co_return got.error();
  co_return std::get<Values>(*got).values.at(0);
}

asio::awaitable<Result<Failure>> learn_abort(StoreClient& client, std::string run_id, int node_rank, Time deadline) {
  Operation get = GetKeys{KeyList(1, abort_key(run_id))};
  auto got = co_await client.perform(std::move(get), deadline);
  if (!got) co_return got.error();
  Operation acknowledge = SetKeys{{{informed_key(run_id, node_rank), "1"}}};
  (void)co_await client.perform(std::move(acknowledge), deadline);
  co_return parse_failure(std::get<Values>(*got).values.at(0));
}

asio::awaitable<std::optional<Failure>> look_for_abort(StoreClient& client, std::string run_id, Time deadline) {
  Operation get = GetKeys{KeyList(1, abort_key(run_id))};
  auto got = co_await client.perform(std::move(get), deadline);
  if (!got) co_return std::nullopt;
  const std::string& text = std::get<Values>(*got).values.at(0);
  if (text.empty()) co_return std::nullopt;
  auto failure = parse_failure(text);
  if (!failure) co_return std::nullopt;
  co_return *std::move(failure);
}

asio::awaitable<Result<Failure>> tell_abort(StoreClient& client, std::string run_id, Failure failure, Time deadline) {
  const int node_rank = failure.node_rank;
  const Failure::Kind kind = failure.kind;
  // A stranger must not end a job that has formed without it.
  if (kind == Failure::Kind::rendezvous) {
    Operation formed = CheckKeys{{ranks_key(run_id, 0)}};
    auto checked = co_await client.perform(std::move(formed), deadline);
    if (checked && std::get<Presence>(*checked).present.at(0)) co_return failure;
  }
  Operation write = CompareSet{abort_key(run_id), "", to_json(failure)};
  auto outcome = co_await client.perform(std::move(write), deadline);
  if (!outcome) co_return outcome.error();
  // A node that was refused may go by a rank that is another's: that one acknowledges for itself.
  if (kind != Failure::Kind::rendezvous) {
    Operation acknowledge = SetKeys{{{informed_key(run_id, node_rank), "1"}}};
    (void)co_await client.perform(std::move(acknowledge), deadline);
  }
  co_return parse_failure(std::get<Values>(*outcome).values.at(0));
}

asio::awaitable<std::vector<int>> claimed_nodes(StoreClient& client, std::string run_id, int nnodes, Time deadline) {
  Operation check = check_claims(run_id, nnodes);
  auto claimed = co_await client.perform(std::move(check), deadline);
  std::vector<int> nodes;
  if (!claimed) co_return nodes;
  for (int node = 0; node < nnodes; ++node)
    if (std::get<Presence>(*claimed).present.at(node)) nodes.push_back(node);
  co_return nodes;
}

asio::awaitable<void> await_informed(StoreClient& client, std::string run_id, std::vector<int> nodes, Time deadline) {
  Operation get = GetKeys{KeyList(1, abort_key(run_id))};
  auto told = co_await client.perform(std::move(get), deadline);
  if (!told) co_return;
  const auto failure = parse_failure(std::get<Values>(*told).values.at(0));
  if (failure && failure->kind == Failure::Kind::lost) std::erase(nodes, failure->node_rank);
  AwaitKeys informed;
  for (const int node : nodes) informed.keys.push_back(informed_key(run_id, node));
  Operation wait = informed;
  (void)co_await client.perform(std::move(wait), deadline);
}

void pass_on(Mailbox& mailbox, const Result<Failure>& first) {
  if (first) {
    mailbox.put_first(PeerFailed{*first});
  } else {
    log_warning("the other nodes could not be told: " + first.error().message);
  }
}

asio::awaitable<void> see_talkers_off(StoreServer& server, Time start) {
  co_await server.until_quiet(later(start, silent_farewell));
  if (server.talkers() == 0) co_return;
  log_info(fmt::format("waiting up to {} for other clients of the store to end: {}; torchrun's agents and their "
                       "workers may still need it",
                       to_text(peers_patience), fmt::join(server.talker_addresses(few_nodes), ", ")));
  co_await server.until_quiet(later(start, peers_patience));
}

asio::awaitable<std::string> other_jobs(Endpoint store, std::string run_id, int arrived, Random& random) {
  if (arrived > few_nodes) co_return "";
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_quietly(std::move(store), deadline, random);
  if (!client) co_return "";
  Operation list = ListKeys{};
  auto listed = co_await client->perform(std::move(list), deadline);
  if (!listed) co_return "";
  const auto others = other_run_ids(std::get<Values>(*listed).values, run_id);
  if (others.empty()) co_return "";
  co_return fmt::format("; the same store serves run id {}: is --rdzv-id {} right?", fmt::join(others, ", "),
                        shown(run_id));
}

asio::awaitable<Status> remove_all_keys(StoreClient& client, Time deadline) {
  Operation list = ListKeys{};
  auto listed = co_await client.perform(std::move(list), deadline);
  if (!listed) co_return listed.error();
  KeyList keys = std::get<Values>(std::move(*listed)).values;
  while (!keys.empty()) {
    const std::size_t count = std::min(keys.size(), keys_at_once);
    DeleteKeys some{KeyList(keys.end() - static_cast<std::ptrdiff_t>(count), keys.end())};
    keys.resize(keys.size() - count);
    Operation remove = std::move(some);
    auto removed = co_await client.perform(std::move(remove), deadline);
    if (!removed) co_return removed.error();
  }
  co_return Status();
}

}  // namespace launch
