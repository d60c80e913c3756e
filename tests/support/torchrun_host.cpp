#include "torchrun_host.hpp"

#include "launch/core/c10d/rendezvous_pickle.hpp"
#include "launch/core/rendezvous/meeting_place.hpp"
#include "launch/core/session/dialogs.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

namespace launch::play {
using namespace std::chrono_literals;

namespace {

constexpr Duration between_looks = 1s;     // at the state
constexpr Duration connect_timeout = 60s;  // also for what is read from the store

}  // namespace

TorchrunHost::TorchrunHost(Network& network, ElasticSettings settings, Endpoint store, Planner planner, Eyes eyes)
    : AgentHost(
          network, settings.self.addr,
          [this](Answer answer) {
            stage_.begin(moment());
            stage_.answer(std::move(answer));
            act();
          },
          std::move(planner), std::move(eyes)),
      handler_(std::move(settings)),
      store_(std::move(store)),
      stage_(network.events().random().next()),
      workers_ended_(stage_),
      scope_(stage_) {
  hosts_by_launch_ = false;
}

void TorchrunHost::start() {
  stage_.begin(moment());
  scope_.start(live());
  act();
}

void TorchrunHost::act() {
  stage_.run();
  while (alive()) {
    SessionActions actions = stage_.take_actions();
    if (actions.empty()) break;
    for (SessionAction& action : actions)
      if (alive()) carry_out(action);
  }
  if (!alive() || stage_.deadline() == never) return;
  wake_at(stage_.deadline(), [this] {
    stage_.begin(moment());
    act();
  });
}

void TorchrunHost::carry_out(SessionAction& action) {
  if (auto* ask = std::get_if<Ask>(&action)) return Process::carry_out(std::move(*ask));
  if (const auto* close = std::get_if<CloseLink>(&action)) return Process::carry_out(*close);
  if (const auto* wake = std::get_if<WakeLink>(&action)) return Process::carry_out(*wake);
}

// ---- workers

void TorchrunHost::fail_workers(bool /*all*/) { workers_end(group_, false); }
void TorchrunHost::end_workers() { workers_end(group_, true); }
void TorchrunHost::signal(int /*number*/) { kill(); }  // it ends and tells nobody

void TorchrunHost::workers_end(std::uint64_t group, bool well) {
  if (!alive() || !running() || group != group_) return;
  well_ = well;
  workers_are_gone();
  stage_.begin(moment());
  workers_ended_.ring();
  act();
}

Talk<void> TorchrunHost::stop_workers() {
  if (!running()) co_return;
  auto dying = stage_.until(later(stage_.moment(), std::min<Duration>(plan_.obeys_after, 30s)));
  co_await dying;
  workers_are_gone();
}

// ---- its life

Talk<void> TorchrunHost::live() {
  const Time deadline = later(stage_.moment(), handler_.settings().join_timeout);
  auto link = co_await connect_quietly(stage_, store_, deadline);
  bool good = false;
  if (link) good = co_await live_with(*link);
  co_await stop_workers();
  exit(good ? 0 : 1);
}

Talk<bool> TorchrunHost::live_with(StoreLink& link) {
  End end = End::somebody_waits;
  while (end == End::somebody_waits || (end == End::failed && restarts_left_-- > 0)) {
    co_await stop_workers();
    auto round = co_await next_rendezvous(link);
    if (!round) co_return false;
    ++group_;
    workers_start(*round);
    if (plan_.ends_after != Duration::max()) {
      when_awake(later(stage_.moment(), plan_.starts_after + plan_.ends_after),
                 [this, group = group_] { workers_end(group, plan_.exit_code == 0); });
    }
    end = co_await supervise(link);
  }
  if (end == End::store_lost) co_return false;
  if (end == End::well) co_await pass_barrier(link);
  const Change close = [this](ElasticState& state) { return handler_.close(state); };
  (void)co_await run(link, close);
  co_return end == End::well;
}

// Looks until it has no more to write or to wait for.
Talk<TorchrunHost::Step> TorchrunHost::run(StoreLink& link, Change change) {
  while (true) {
    const Step step = co_await look(link, change);
    if (step != Step::wait) co_return step;
    auto pause = stage_.until(later(stage_.moment(), between_looks));
    co_await pause;
  }
}

// A store that does not answer is lost: too_late.
Talk<TorchrunHost::Step> TorchrunHost::look(StoreLink& link, const Change& change) {
  const std::string key = state_key(handler_.settings().run_id);
  Operation operation = GetKeys{{key}};
  if (token_.empty()) operation = CompareSet{key, "", std::string(no_state)};
  while (true) {
    const Time deadline = later(stage_.moment(), connect_timeout);
    auto outcome = co_await link.perform(std::move(operation), deadline);
    if (!outcome) co_return Step::too_late;
    token_ = std::get<Values>(*outcome).values.at(0);
    auto state = read_state(token_);
    if (!state) {
      eyes_.fault("torchrun cannot read the state: " + state.error().message);
      co_return Step::too_late;
    }
    state_ = *std::move(state);
    handler_.sanitize(state_, stage_.instant().wall);
    const Step step = change(state_);
    if (step != Step::write) co_return step;
    operation = CompareSet{key, token_, write_state(state_)};
  }
}

Talk<std::optional<Round>> TorchrunHost::next_rendezvous(StoreLink& link) {
  const Change leave = [this](ElasticState& state) { return handler_.leave(state); };
  const Change join = [this](ElasticState& state) { return handler_.join(state, stage_.instant()); };
  Step step = co_await run(link, leave);
  handler_.begin(stage_.moment());
  if (step == Step::done) step = co_await run(link, join);
  if (step != Step::done) co_return std::nullopt;
  const ElasticSettings& settings = handler_.settings();
  const std::int64_t number = state_.round;
  StaticJob job;
  job.run_id = round_prefix(settings.run_id, number);
  job.nnodes = static_cast<int>(state_.participants.size());
  job.self = settings.member;
  job.self.group_rank = NodeRank(state_.participants.at(settings.self));
  job.timeout = connect_timeout;
  job.found = true;
  const KeyList keys = meeting_keys(job.run_id);
  auto meeting = job.self.group_rank == NodeRank(0) ? say_where(link, keys) : hear_where(link, keys);
  const bool met = co_await meeting;
  if (!met) co_return std::nullopt;
  StaticRendezvous exchange(std::move(job));
  const std::function<void(const Waiting&)> say_nothing = [](const Waiting&) {};
  auto round = co_await form(link, exchange, say_nothing);
  if (!round) co_return std::nullopt;
  round->number = number;
  co_return *std::move(round);
}

// It keeps the place that it has heard of first. False: nobody says where.
Talk<bool> TorchrunHost::hear_where(StoreLink& link, const KeyList& keys) {
  if (workers_store_) co_return true;
  const Time deadline = later(stage_.moment(), connect_timeout);
  Operation wait = AwaitKeys{keys};
  auto said = co_await link.perform(std::move(wait), deadline);
  if (!said || !std::holds_alternative<Done>(*said)) co_return false;
  auto values = co_await link.get(keys, deadline);
  if (!values) co_return false;
  auto place = parse_meeting_place(values->at(0), values->at(1));
  if (place) workers_store_ = *place;
  co_return place.has_value();
}

// For rank 0: it makes a place of its own once, and says so once; launch's agents say it again for newcomers. If no
// launch agent takes part, it says so in each round.
Talk<bool> TorchrunHost::say_where(StoreLink& link, const KeyList& keys) {
  const bool knows = workers_store_ && workers_store_->host == host();
  if (!knows) {
    Question listen = Listen{OwnStore::workers, {host(), 0}};
    auto listening = stage_.ask<Listening>(std::move(listen));
    const Listening opened = co_await listening;
    workers_store_ = Endpoint{host(), opened.port};
  }
  const bool alone = std::none_of(state_.participants.begin(), state_.participants.end(),
                                  [](const auto& node) { return is_launch(node.first); });
  if (knows && !alone) co_return true;
  Operation say = SetKeys{{{keys[0], host()}, {keys[1], std::to_string(workers_store_->port)}}};
  auto said = co_await link.perform(std::move(say), later(stage_.moment(), connect_timeout));
  co_return said.has_value();
}

Talk<TorchrunHost::End> TorchrunHost::supervise(StoreLink& link) {
  const Change stay = [this](ElasticState& state) { return handler_.stay(state, stage_.instant()); };
  while (true) {
    auto ended = workers_ended_.rung(later(stage_.moment(), between_looks));
    co_await ended;
    if (!running()) co_return well_ ? End::well : End::failed;
    const Step looked = co_await look(link, stay);
    if (looked != Step::done) co_return End::store_lost;
    if (!running()) co_return well_ ? End::well : End::failed;
    if (!state_.wait_list.empty()) co_return End::somebody_waits;
  }
}

Talk<void> TorchrunHost::pass_barrier(StoreLink& link) {
  const std::string prefix = round_prefix(handler_.settings().run_id, last_.number);
  const Time deadline = later(stage_.moment(), exit_barrier_timeout);
  Operation count = AddNumber{ended_count_key(prefix), 1};
  auto counted = co_await link.perform(std::move(count), deadline);
  if (!counted) co_return;
  if (std::get<Number>(*counted).value == last_.assignment.group_world_size)
    (void)co_await link.set(all_ended_key(prefix), "<val_ignored>", deadline);
  Operation wait = AwaitKeys{KeyList(1, all_ended_key(prefix))};
  (void)co_await link.perform(std::move(wait), deadline);
}

}  // namespace launch::play
