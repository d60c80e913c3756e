#include "launch/app/rendezvous_session.hpp"

#include "launch/io/clock.hpp"

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

namespace {

std::string acknowledged_key(const std::string& run_id, int node) {
  return fmt::format("/{}/launch/informed/{}", run_id, node);
}

}  // namespace

asio::awaitable<Result<Assignment>> form(StoreClient& client, StaticRendezvous machine,
                                         std::function<void(const Waiting&)> on_waiting) {
  RendezvousStep step = machine.start(now());
  while (auto* operation = std::get_if<Operation>(&step.next)) {
    if (step.waiting) on_waiting(*step.waiting);
    auto outcome = co_await client.perform(std::move(*operation), machine.deadline());
    if (!outcome) co_return outcome.error();
    step = machine.on(*outcome, now());
  }
  if (auto* error = std::get_if<Error>(&step.next)) co_return std::move(*error);
  co_return std::get<Assignment>(step.next);
}

asio::awaitable<Result<bool>> pass(StoreClient& client, ExitBarrier barrier) {
  BarrierStep step = barrier.start(now());
  while (auto* operation = std::get_if<Operation>(&step)) {
    auto outcome = co_await client.perform(std::move(*operation), barrier.deadline());
    if (!outcome) co_return outcome.error();
    step = barrier.on(*outcome, now());
  }
  co_return std::get<BarrierPassed>(step).everybody;
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

asio::awaitable<Result<Failure>> await_abort(StoreClient& client, std::string run_id, int node_rank) {
  const KeyList keys(1, abort_key(run_id));
  Operation wait = AwaitKeys{keys};
  auto waited = co_await client.perform(std::move(wait), never);
  if (!waited) co_return waited.error();
  Operation get = GetKeys{keys};
  auto got = co_await client.perform(std::move(get), never);
  if (!got) co_return got.error();
  Operation acknowledge = SetKeys{{{acknowledged_key(run_id, node_rank), "1"}}};
  (void)co_await client.perform(std::move(acknowledge), never);
  co_return parse_failure(std::get<Values>(*got).values.at(0));
}

asio::awaitable<Result<Failure>> tell_abort(StoreClient& client, std::string run_id, Failure failure, Time deadline) {
  const int node_rank = failure.node_rank;
  const Failure::Kind kind = failure.kind;
  // A stranger must not end a job that has formed without it.
  if (kind == Failure::Kind::rendezvous) {
    Operation formed = CheckKeys{{formed_key(run_id)}};
    auto checked = co_await client.perform(std::move(formed), deadline);
    if (checked && std::get<Presence>(*checked).present.at(0)) co_return failure;
  }
  Operation write = CompareSet{abort_key(run_id), "", to_json(failure)};
  auto outcome = co_await client.perform(std::move(write), deadline);
  if (!outcome) co_return outcome.error();
  // A node that was refused may go by a rank that is another's: that one acknowledges for itself.
  if (kind != Failure::Kind::rendezvous) {
    Operation acknowledge = SetKeys{{{acknowledged_key(run_id, node_rank), "1"}}};
    (void)co_await client.perform(std::move(acknowledge), deadline);
  }
  co_return parse_failure(std::get<Values>(*outcome).values.at(0));
}

asio::awaitable<void> await_informed(StoreClient& client, std::string run_id, int nnodes, Time deadline) {
  CheckKeys claims;
  for (int node = 0; node < nnodes; ++node) claims.keys.push_back(claim_key(run_id, node));
  Operation check = claims;
  auto claimed = co_await client.perform(std::move(check), deadline);
  if (!claimed) co_return;
  AwaitKeys informed;
  for (int node = 0; node < nnodes; ++node)
    if (std::get<Presence>(*claimed).present.at(node)) informed.keys.push_back(acknowledged_key(run_id, node));
  Operation wait = informed;
  (void)co_await client.perform(std::move(wait), deadline);
}

}  // namespace launch
