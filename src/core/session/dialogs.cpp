#include "launch/core/session/dialogs.hpp"

#include "launch/core/base/announcer.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/rendezvous/other_jobs.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr std::size_t keys_at_once = 1000;
constexpr std::size_t few_clients = 8;
constexpr int few_nodes = 8;
constexpr Duration to_be_noticed = 1s;

}  // namespace

Talk<Result<Round>> form(StoreLink& link, StaticRendezvous& machine, std::function<void(const Waiting&)> on_waiting) {
  Stage& stage = link.stage();
  RendezvousStep step = machine.start(stage.moment());
  while (true) {
    if (step.waiting) on_waiting(*step.waiting);
    for (std::string& warning : step.warnings) stage.say(Say::Level::warning, std::move(warning));
    if (auto* error = std::get_if<Error>(&step.next)) co_return std::move(*error);
    if (auto* round = std::get_if<Round>(&step.next)) co_return std::move(*round);
    if (std::holds_alternative<Fence>(step.next)) {
      stage.act(FenceStore{OwnStore::job});
      step = machine.on(Done{}, stage.moment());
      continue;
    }
    Operation operation = std::get<Operation>(std::move(step.next));
    auto outcome = co_await link.perform(std::move(operation), machine.deadline());
    if (!outcome) co_return outcome.error();
    step = machine.on(*outcome, stage.moment());
  }
}

Talk<Result<BarrierPassed>> pass(StoreLink& link, ExitBarrier barrier, std::function<void()> on_counted) {
  Stage& stage = link.stage();
  const int nnodes = barrier.nnodes();
  BarrierStep step = barrier.start(stage.moment());
  bool counted = false;
  while (auto* operation = std::get_if<Operation>(&step.next)) {
    if (step.arrived)
      stage.say(Say::Level::progress,
                fmt::format("waiting for the other nodes ({} of {} have finished); the workers here have finished",
                            *step.arrived, nnodes));
    auto outcome = co_await link.perform(std::move(*operation), barrier.deadline());
    if (!outcome && barrier.have_all_come()) co_return BarrierPassed{};
    if (!outcome) co_return outcome.error();
    if (!std::exchange(counted, true)) on_counted();
    step = barrier.on(*outcome, stage.moment());
  }
  co_return std::get<BarrierPassed>(step.next);
}

std::string wait_for_others(const RoundWaits& waits) {
  return fmt::format("waiting for the nodes that ran when the rendezvous lost its host ({} of {} have come{})",
                     waits.arrived, waits.awaited,
                     waits.patience ? fmt::format("; the others have {} at most", to_text(*waits.patience)) : "");
}

Talk<Result<std::string>> await_claim(StoreLink& link, std::string run_id, NodeRank node, Time deadline) {
  const KeyList keys(1, claim_key(run_id, node.value));
  Operation wait = AwaitKeys{keys};
  auto waited = co_await link.perform(std::move(wait), deadline);
  if (!waited) co_return waited.error();
  if (std::holds_alternative<WaitExpired>(*waited)) co_return Error{ErrorCode::timeout, "nobody claims the rank"};
  auto got = co_await link.get(keys, deadline);
  if (!got) co_return got.error();
  co_return got->at(0);
}

Talk<Result<Failure>> learn_abort(StoreLink& link, std::string prefix, NodeRank own, Time deadline) {
  auto got = co_await link.get(KeyList(1, abort_key(prefix)), deadline);
  if (!got) co_return got.error();
  (void)co_await link.set(informed_key(prefix, own.value), "1", deadline);
  co_return parse_failure(got->at(0));
}

Talk<std::optional<Failure>> look_for_abort(StoreLink& link, std::string prefix, Time deadline) {
  auto got = co_await link.get(KeyList(1, abort_key(prefix)), deadline);
  if (!got || got->at(0).empty()) co_return std::nullopt;
  auto failure = parse_failure(got->at(0));
  if (!failure) co_return std::nullopt;
  co_return *std::move(failure);
}

Talk<std::optional<Failure>> read_abort(Stage& stage, Endpoint store, std::string prefix) {
  const Time deadline = later(stage.moment(), quick_answer);
  auto link = co_await connect_quietly(stage, std::move(store), deadline);
  if (!link) co_return std::nullopt;
  co_return co_await look_for_abort(*link, std::move(prefix), deadline);
}

Talk<bool> have_all_ended(Stage& stage, Endpoint store, std::string prefix) {
  const Time deadline = later(stage.moment(), quick_answer);
  auto link = co_await connect_quietly(stage, std::move(store), deadline);
  if (!link) co_return false;
  auto ended = co_await link->check(KeyList(1, all_ended_key(prefix)), deadline);
  co_return ended && ended->at(0);
}

Talk<Status> await_settled(StoreLink& link, std::string run_id, std::int64_t round, Time deadline) {
  Stage& stage = link.stage();
  Announcer announcer(stage.moment());
  while (true) {
    Operation wait = AwaitKeys{KeyList(1, settled_key(state_key(run_id), round))};
    auto waited = co_await link.perform(std::move(wait), std::min(deadline, announcer.next()));
    if (!waited) co_return waited.error();
    if (std::holds_alternative<Done>(*waited)) co_return Status();
    if (stage.moment() >= deadline)
      co_return Error{ErrorCode::timeout, "not all nodes have heard of the round in time"};
    if (announcer.due(stage.moment(), stage.report_interval()))
      stage.say(Say::Level::progress,
                fmt::format("waiting until each node has confirmed that it takes part in the round; giving up in {}",
                            to_text(deadline - stage.moment())));
  }
}

Talk<Result<Failure>> tell_abort(StoreLink& link, std::string prefix, Failure failure, Time deadline) {
  // A node that is not in the job must not end it once it has formed without that node.
  if (failure.kind == Failure::Kind::rendezvous) {
    auto formed = co_await link.check(KeyList(1, ranks_key(prefix, 0)), deadline);
    if (formed && formed->at(0)) co_return failure;
  }
  Operation write = CompareSet{abort_key(prefix), "", to_json(failure)};
  auto outcome = co_await link.perform(std::move(write), deadline);
  if (!outcome) co_return outcome.error();
  // A refused node may use a rank that belongs to another node: that node acknowledges for itself.
  if (failure.kind != Failure::Kind::rendezvous && failure.node_rank.known())
    (void)co_await link.set(informed_key(prefix, failure.node_rank.value), "1", deadline);
  co_return parse_failure(std::get<Values>(*outcome).values.at(0));
}

Talk<Failure> agree_on_first(Stage& stage, Endpoint store, std::string prefix, Failure failure) {
  const Time deadline = later(stage.moment(), quick_answer);
  auto link = co_await connect_quietly(stage, std::move(store), deadline);
  if (!link) co_return failure;
  auto first = co_await tell_abort(*link, std::move(prefix), failure, deadline);
  if (!first) co_return failure;
  co_return *std::move(first);
}

Talk<std::vector<NodeRank>> claimed_nodes(StoreLink& link, std::string run_id, int nnodes, Time deadline) {
  Operation check = check_claims(run_id, nnodes);
  auto claimed = co_await link.perform(std::move(check), deadline);
  std::vector<NodeRank> nodes;
  if (!claimed) co_return nodes;
  for (int node = 0; node < nnodes; ++node)
    if (std::get<Presence>(*claimed).present.at(node)) nodes.emplace_back(node);
  co_return nodes;
}

Talk<void> await_informed(StoreLink& link, std::string prefix, std::vector<NodeRank> nodes, Time deadline) {
  auto told = co_await link.get(KeyList(1, abort_key(prefix)), deadline);
  if (!told) co_return;
  const auto failure = parse_failure(told->at(0));
  if (failure && failure->kind == Failure::Kind::lost) std::erase(nodes, failure->node_rank);
  AwaitKeys informed;
  for (const NodeRank node : nodes) informed.keys.push_back(informed_key(prefix, node.value));
  Operation wait = std::move(informed);
  (void)co_await link.perform(std::move(wait), deadline);
}

void say_wait_for_port(Stage& stage, std::uint16_t port) {
  stage.say(Say::Level::progress,
            fmt::format("waiting until port {} is free; a closed connection may keep it for up to a minute", port));
}

Talk<int> count_restarts(StoreLink& control, RestartsSoFar so_far) {
  const Time deadline = later(control.stage().moment(), quick_answer);
  const std::string& run_id = so_far.run_id;
  KeyList keys = {restarts_key(run_id), abort_key(round_prefix(run_id, so_far.round - 1)),
                  abort_key(round_prefix(run_id, so_far.round))};
  auto values = co_await control.get(std::move(keys), deadline);
  if (!values) co_return so_far.known;
  const int written = parse_int(values->at(0)).value_or(0);
  const auto own = parse_failure(values->at(2));
  if (own && own->restarts > 0) co_return std::min(written, own->restarts - 1);
  const auto failure = parse_failure(values->at(1));
  if (!failure || failure->restarts <= written) co_return written;
  // For the rounds after this one.
  (void)co_await control.set(restarts_key(run_id), std::to_string(failure->restarts), deadline);
  co_return failure->restarts;
}

void pass_on(Stage& stage, const Result<Failure>& first) {
  if (first) return stage.act(Tell{PeerFailed{*first}, true});
  stage.say(Say::Level::warning, "could not notify the other nodes: " + first.error().message);
}

Talk<void> see_off(Stage& stage, AwaitNoClients wait, std::string until) {
  const Time soon = std::min(wait.deadline, later(stage.moment(), to_be_noticed));
  auto waiting = stage.ask<Clients>(AwaitNoClients{wait.who, soon});
  const Clients clients = co_await waiting;
  const bool stopped = stage.moment() < soon;
  if (clients.left == 0 || stopped || soon == wait.deadline) co_return;
  stage.say(Say::Level::progress, fmt::format("waiting until {}, which need the store of this one; going on in {}",
                                              until, to_text(wait.deadline - stage.moment())));
  auto waiting_on = stage.ask<Clients>(wait);
  (void)co_await waiting_on;
}

Talk<void> see_talkers_off(Stage& stage, Time start) {
  Question soon = AwaitNoClients{Clientele::all, later(start, silent_farewell)};
  auto waiting = stage.ask<Clients>(std::move(soon));
  const Clients clients = co_await waiting;
  if (clients.left == 0) co_return;
  const std::size_t named = std::min(clients.where.size(), few_clients);
  stage.say(Say::Level::info, fmt::format("waiting up to {} for other clients of the store to finish: {}; torchrun's "
                                          "agents and their workers may still need it",
                                          to_text(peers_patience),
                                          fmt::join(clients.where.begin(), clients.where.begin() + named, ", ")));
  Question last = AwaitNoClients{Clientele::all, later(start, peers_patience)};
  auto waiting_on = stage.ask<Clients>(std::move(last));
  (void)co_await waiting_on;
}

Talk<std::string> other_jobs(Stage& stage, Endpoint store, std::string run_id, int arrived) {
  if (arrived > few_nodes) co_return "";
  const Time deadline = later(stage.moment(), quick_answer);
  auto link = co_await connect_quietly(stage, std::move(store), deadline);
  if (!link) co_return "";
  Operation list = ListKeys{};
  auto listed = co_await link->perform(std::move(list), deadline);
  if (!listed) co_return "";
  const auto others = other_run_ids(std::get<Values>(*listed).values, run_id);
  if (others.empty()) co_return "";
  co_return fmt::format("is --rdzv-id {} right? this store also serves {}; ", shown(run_id), fmt::join(others, ", "));
}

Talk<Status> remove_all_keys(StoreLink& link, Time deadline) {
  Operation list = ListKeys{};
  auto listed = co_await link.perform(std::move(list), deadline);
  if (!listed) co_return listed.error();
  KeyList keys = std::get<Values>(std::move(*listed)).values;
  while (!keys.empty()) {
    const std::size_t count = std::min(keys.size(), keys_at_once);
    DeleteKeys some{KeyList(keys.end() - static_cast<std::ptrdiff_t>(count), keys.end())};
    keys.resize(keys.size() - count);
    Operation remove = std::move(some);
    auto removed = co_await link.perform(std::move(remove), deadline);
    if (!removed) co_return removed.error();
  }
  co_return Status();
}

}  // namespace launch
