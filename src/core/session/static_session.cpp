#include "launch/core/session/static_session.hpp"

#include "launch/core/base/announcer.hpp"
#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/session/dialogs.hpp"
#include "launch/core/session/master_doubt.hpp"
#include "launch/core/session/port_row.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration one_look = 5s;
constexpr Duration one_try = 500ms;
constexpr Duration to_notice = 5s;  // time that the host needs to notice a silent node

}  // namespace

StaticSession::StaticSession(const Config& config, const StaticChoice& nodes, const SessionFacts& facts)
    : Session(config, facts), nodes_(nodes), round_(stage_), seeking_(stage_) {
  identity_ = agent_identity(config.hostname, facts.pid, static_cast<std::uint32_t>(stage_.random().next() >> 32U));
}

StaticSession::~StaticSession() { stage_.end(); }

Talk<Status> StaticSession::open() {
  if (!hosts()) co_return Status();
  const Duration silence = plan_heartbeat(config_.heartbeat_timeout, nodes_.nnodes).silence;
  stage_.act(PrepareStore{silence, {}, agent_keys(config_.run_id), config_.run_id, nodes_.nnodes});
  Listening opened = co_await listen_in_row(stage_, nodes_.store, nodes_.ports);
  opens_late_ = opened.cooling;
  if (opens_late_) co_return Status();
  co_return std::move(opened.status);
}

// The last user of the port has ended, but the kernel keeps the port for a minute. open() does not wait for it: no
// signal is heard then.
Talk<bool> StaticSession::open_late() {
  say_wait_for_port(stage_, nodes_.store.port);
  while (true) {
    const Listening opened = co_await listen_in_row(stage_, nodes_.store, nodes_.ports);
    opens_late_ = !opened.status;
    if (opened.status) co_return true;
    if (stage_.moment() >= give_up_joining_ || !opened.cooling) {
      stage_.tell(RendezvousFailed{opened.status.error()});
      co_return false;
    }
    auto pause = stage_.until(later(stage_.moment(), one_try));
    co_await pause;
  }
}

Endpoint StaticSession::store_endpoint() const {
  // The host reaches its own store independently of the name that the others use.
  if (hosts()) return Endpoint{"127.0.0.1", nodes_.store.port};
  return nodes_.store;
}

StaticJob StaticSession::static_job() const {
  StaticJob job;
  job.run_id = prefix();
  job.nnodes = nodes_.nnodes;
  job.self = Member{nodes_.node_rank, config_.role, config_.nproc_per_node};
  job.identical_workers = config_.identical_workers && attempt_ == 0;
  job.timeout = give_up_joining_ - stage_.moment();
  job.fence = attempt_ > 0;
  job.survey = config_.restarts.max_restarts > 0;
  job.restarts = restarts_;
  job.identity = identity_;
  job.common = common_settings(config_);
  job.report_interval = stage_.report_interval();
  return job;
}

void StaticSession::join(const JoinRound& event) {
  ++attempt_;
  restarts_ = event.restarts;
  round_.give_up();
  seeking_.give_up();
  if (watch_) {
    watch_->retire();
    earlier_.push_back(std::move(watch_));
  }
  stage_.act(ForgetRound{});
  give_up_joining_ = later(stage_.moment(), config_.rendezvous_timeout);
  if (attempt_ == 0) begin_seeking();
  round_.start(join_attempt());
}

void StaticSession::begin_seeking() {
  MasterDoubt doubt{nodes_.store, config_.hostname, nodes_.node_rank};
  const auto met = [this] { return hosts() ? finds_itself_ : reached_.has_value(); };
  if (!hosts() || !is_loopback(nodes_.store.host)) seeking_.start(doubt_master(stage_, std::move(doubt), met));
  if (hosts() && !is_loopback(nodes_.store.host)) seeking_.start(look_for_another_node_0());
}

void StaticSession::stop_joining() {
  round_.give_up();
  seeking_.give_up();
  if (watch_) watch_->control().close();
}

Talk<void> StaticSession::join_attempt() {
  if (opens_late_) {
    const bool open = co_await open_late();
    if (!open) co_return;
  }
  Joined joined = co_await join_once();
  while (joined != Joined::over) {
    if (joined == Joined::store_gone)
      stage_.say(Say::Level::info,
                 fmt::format("the store of node 0 at {} was lost before the job formed; looking for it again",
                             to_text(nodes_.store)));
    auto pause = stage_.until(later(stage_.moment(), one_try));
    co_await pause;
    joined = co_await join_once();
  }
}

Talk<Result<StoreLink>> StaticSession::look_for_node_0() {
  Announcer announcer(stage_.moment());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    if (announcer.due(stage_.moment(), stage_.report_interval()))
      stage_.say(Say::Level::progress,
                 fmt::format("{}; waiting for the store of node 0 at {}; giving up in {}", reason.message,
                             to_text(nodes_.store), to_text(give_up_joining_ - stage_.moment())));
  };
  if (!reached_ && !hosts() && !nodes_.ports.empty()) {
    RowSearch search{config_.run_id, give_up_joining_, on_retry};
    co_return co_await find_in_row(stage_, nodes_.store, nodes_.ports, std::move(search));
  }
  co_return co_await connect_to_store(stage_, reached_.value_or(store_endpoint()), give_up_joining_, on_retry);
}

Talk<StaticSession::Joined> StaticSession::join_once() {
  auto connected = co_await look_for_node_0();
  if (!connected) {
    Error error = connected.error();
    error.message = fmt::format("the rendezvous timed out after {}: node 0 is missing: {}",
                                to_text(config_.rendezvous_timeout), error.message);
    stage_.tell(RendezvousFailed{std::move(error)});
    co_return Joined::over;
  }
  reached_ = connected->peer();
  RoundWatch::Place here = place(attempt_);
  if (!earlier_.empty()) here.by_launch = earlier_.back()->place().by_launch;
  watch_ = std::make_unique<RoundWatch>(stage_, *std::move(connected), std::move(here));
  if (attempt_ == 0 && !hosts()) watch_->wait_for_store();
  auto formed = co_await form_here();
  if (!formed) co_return co_await join_again(formed.error());
  seeking_.give_up();
  watch_->formed();
  formed->number = attempt_;
  if (!nodes_.ports.empty()) formed->master = nodes_.store;
  // If not, one of the nodes is torchrun's, which waits for others without limit.
  if (formed->can_restart) formed->longest_stall = longest_stall(config_.heartbeat_timeout, nodes_.nnodes);
  asks_.begin({*reached_, prefix(), nodes_.node_rank, nodes_.nnodes});
  stage_.tell(RendezvousDone{*formed});
  co_return Joined::over;
}

Talk<StaticSession::Joined> StaticSession::join_again(Error why) {
  const bool closed = why.code == ErrorCode::closed;
  bool lost = closed;
  if (closed) lost = co_await watch_->was_lost(later(stage_.moment(), quick_answer));
  if (closed && attempt_ > 0) {
    stage_.tell(StoreLost{why.message});
    co_return Joined::over;
  }
  const bool held = co_await is_held_by_the_dead();
  if (!lost && !held) {
    stage_.tell(RendezvousFailed{std::move(why)});
    co_return Joined::over;
  }
  watch_.reset();
  if (!held || !nodes_.ports.empty()) reached_.reset();  // node 0 may come back at another port
  co_return held ? Joined::rank_held : Joined::store_gone;
}

// Usual case: this host lost its power, and is back before the store has noticed. The agent that claims the rank may
// also live where it cannot be seen from here, as in another container: then the claim still stands after the wait,
// since the store hears of that agent.
Talk<bool> StaticSession::is_held_by_the_dead() {
  const std::string holder = std::exchange(holder_, "");
  const Duration silence = plan_heartbeat(config_.heartbeat_timeout, nodes_.nnodes).silence;
  const auto pid = pid_of_agent(holder, config_.hostname);
  if (!pid || silence == Duration::zero()) co_return false;
  Question look = LookForAgent{*pid};
  auto looking = stage_.ask<bool>(std::move(look));
  const bool lives = co_await looking;
  if (lives) co_return false;
  if (held_until_ == never) {
    held_until_ = later(stage_.moment(), silence + to_notice);
    stage_.say(Say::Level::info,
               fmt::format("node rank {} is still claimed by {}, which has ended on this machine; waiting until node 0 "
                           "notices, {} at most",
                           nodes_.node_rank.value, shown(holder), to_text(held_until_ - stage_.moment())));
  }
  co_return stage_.moment() < held_until_;
}

// The will stands before the rank is claimed: so the loss of every node that can be counted in is noticed.
Talk<Result<Round>> StaticSession::form_here() {
  if (untold_) co_await tell_late();
  auto pledged = co_await watch_->pledge(will(), give_up_joining_);
  if (!pledged) co_return Error{ErrorCode::closed, pledged.error().message};
  earlier_.clear();
  watch_->start_watching(give_up_joining_);
  StaticRendezvous machine(static_job());
  const std::function<void(const Waiting&)> on_waiting = [this](const Waiting& waiting) {
    seeking_.start(announce(waiting));
  };
  auto formed = co_await form(watch_->control(), machine, on_waiting);
  holder_ = machine.holder();
  co_return formed;
}

RoundWatch::Place StaticSession::place(int attempt) const {
  return {attempt_prefix(config_.run_id, attempt), nodes_.node_rank, nodes_.nnodes, config_.heartbeat_timeout};
}

// The attempt may have failed already when this node is lost: then the nodes that go on to the next one are told there.
// A node with identical workers starts them without waiting for the others: from then on its loss fails the job.
Will StaticSession::will() const {
  Will will = will_in_barrier();
  Will now = last_will(place(attempt_), config_.hostname, false);
  will.words.insert(will.words.begin(), std::move(now.words.front()));
  return will;
}

// This node's workers have ended well, so its loss harms nobody, unless the others restart.
Will StaticSession::will_in_barrier() const {
  Will will = last_will(place(attempt_ + 1), config_.hostname, false);
  will.gone.push_back(account_key(prefix(), nodes_.node_rank.value));
  will.claim = Will::Claim{claim_key(config_.run_id, nodes_.node_rank.value),
                           identity_,
                           config_.identical_workers ? "" : begun_key(config_.run_id),
                           {role_info_key(config_.run_id, nodes_.node_rank.value)}};
  return will;
}

Talk<void> StaticSession::announce(Waiting waiting) {
  const Endpoint store = reached_.value_or(store_endpoint());
  const std::string others = co_await other_jobs(stage_, store, config_.run_id, waiting.arrived);
  std::string whom = "the other nodes";
  if (!waiting.missing.empty())
    whom = fmt::format("node{} {}", waiting.missing.size() == 1 ? "" : "s", as_ranges(waiting.missing));
  stage_.say(Say::Level::progress, fmt::format("{}waiting for {} ({} of {} have joined); giving up in {}", others, whom,
                                               waiting.arrived, nodes_.nnodes, to_text(waiting.left)));
}

Talk<Result<StoreLink>> StaticSession::connect_again(Time deadline) {
  co_return co_await connect_quietly(stage_, reached_.value_or(store_endpoint()), deadline);
}

// If two machines take themselves for node 0, both have a store. If the address that the user gave leads to the store
// of the other one, the claim found there is not ours.
Talk<void> StaticSession::look_for_another_node_0() {
  std::optional<StoreLink> link;
  while (!link) {
    const Time deadline = std::min(give_up_joining_, later(stage_.moment(), one_look));
    auto connected = co_await connect_quietly(stage_, nodes_.store, deadline);
    if (stage_.moment() >= give_up_joining_) co_return;
    if (connected) link.emplace(*std::move(connected));
  }
  auto claim = co_await await_claim(*link, config_.run_id, NodeRank(0), give_up_joining_);
  finds_itself_ = claim && *claim == identity_;
  if (!claim || finds_itself_) co_return;
  Error error = rank_used_twice(static_job(), *claim);
  Failure failure = failure_of_rendezvous({NodeRank(0), config_.hostname}, error);
  (void)co_await tell_abort(*link, config_.run_id, std::move(failure), later(stage_.moment(), quick_answer));
  stage_.tell(RendezvousFailed{std::move(error)});
}

Talk<void> StaticSession::tell(Failure failure) {
  if (!reached_ && !hosts()) co_return;  // this node has never reached the store
  untold_ = std::move(failure);
  const Time deadline = later(stage_.moment(), quick_answer);
  auto link = co_await connect_again(deadline);
  Result<Failure> first = Failure();
  if (link) {
    first = co_await tell_by(*link, *untold_, deadline);
  } else {
    first = link.error();
  }
  // The others may have been told that this node has joined before it heard so itself: then its will must tell them. If
  // it has not joined, its will is void.
  const bool joins = untold_->kind == Failure::Kind::rendezvous;
  if (first && !joins) untold_.reset();
  if (!first) round_.start(keep_telling());
  pass_on(stage_, first);
}

Talk<Result<Failure>> StaticSession::tell_by(StoreLink& link, Failure failure, Time deadline) {
  auto first = co_await tell_abort(link, prefix(), failure, deadline);
  // Nodes that are about to go on must hear of an end, too.
  ends_ahead_ = first && first->restart && !failure.restart;
  if (ends_ahead_) first = co_await tell_abort(link, end_prefix(), failure, deadline);
  co_return first;
}

// The network is cut, or the host asleep: the others must hear of the failure as soon as that is over.
Talk<void> StaticSession::keep_telling() {
  while (untold_) {
    auto pause = stage_.until(later(stage_.moment(), one_try));
    co_await pause;
    auto link = co_await connect_again(later(stage_.moment(), quick_answer));
    if (link && untold_) co_await tell_again(*link);
  }
}

Talk<void> StaticSession::tell_again(StoreLink& link) {
  auto first = co_await tell_by(link, *untold_, later(stage_.moment(), quick_answer));
  if (!first) co_return;
  untold_.reset();
  pass_on(stage_, first);
}

// The others are still in the attempt before, and know nothing of its failure.
Talk<void> StaticSession::tell_late() {
  const std::string last = attempt_prefix(config_.run_id, attempt_ - 1);
  auto first = co_await tell_abort(watch_->control(), last, *untold_, later(stage_.moment(), quick_answer));
  if (!first) co_return;
  untold_.reset();
  if (!first->restart) stage_.tell(PeerFailed{*std::move(first)});
}

void StaticSession::enter_barrier() { round_.start(leave_round()); }

// The node that hosts the store waits for the others without limit, if it would hear of the loss of each of them.
Talk<void> StaticSession::leave_round() {
  std::optional<Duration> patience;
  if (hosts()) {
    const Time deadline = later(stage_.moment(), quick_answer);
    const auto nodes = co_await claimed_nodes(watch_->control(), prefix(), nodes_.nnodes, deadline);
    mixed_ = !nodes.empty() && static_cast<int>(nodes.size()) < nodes_.nnodes;  // empty: it has not answered in time
    if (mixed_) patience = exit_barrier_timeout;
  }
  watch_->start_leaving(patience, [this] { watch_->replace_will(will_in_barrier()); });
}

// Node 0 gathers the accounts. If node 0 is torchrun's, nobody does.
Talk<Account> StaticSession::share(Account own, Failure first) {
  if (!watch_ || watch_->lost()) co_return own;
  auto link = co_await connect_again(later(stage_.moment(), EndAccount::to_connect));
  if (!link) co_return own;
  if (untold_) co_await tell_again(*link);
  if (untold_) co_return own;  // the others would let this node wait for them; its end tells them
  ExchangePlace place{end_prefix(), nodes_.node_rank, NodeRank(0), {}, later(stage_.moment(), most_for_end(config_))};
  const Time deadline = later(stage_.moment(), quick_answer);
  std::vector<NodeRank> nodes = co_await claimed_nodes(*link, config_.run_id, hosts() ? nodes_.nnodes : 1, deadline);
  if (nodes.empty()) co_return own;
  std::erase(nodes, nodes_.node_rank);
  if (first.kind == Failure::Kind::lost) std::erase(nodes, first.node_rank);
  if (hosts()) place.others = std::move(nodes);
  co_return co_await account_.share(*std::move(link), std::move(place), std::move(own));
}

void StaticSession::hurry() {
  account_.hurry();
  stage_.act(StopAwaiting{});
}

// The store ends with this process, which must wait until its peers know how the job ended.
Talk<void> StaticSession::end(bool failed) {
  round_.give_up();
  seeking_.give_up();
  if (hosts() && failed) co_await see_others_informed();
  if (untold_) {  // then the wills of this node must tell the others
    if (watch_) watch_->let_will_stand();
    for (const auto& earlier : earlier_) earlier->let_will_stand();
  }
  earlier_.clear();
  watch_.reset();
  if (!hosts() || failed) co_return;
  if (mixed_) co_return co_await see_talkers_off(stage_, stage_.moment());
  // No worker is left on any node. Other clients have nothing to do with the job's end.
  Question wait = AwaitNoClients{Clientele::agents, later(stage_.moment(), peers_patience)};
  auto waiting = stage_.ask<Clients>(std::move(wait));
  (void)co_await waiting;
}

Talk<void> StaticSession::see_others_informed() {
  const Time deadline = later(stage_.moment(), quick_answer);
  auto link = co_await connect_again(deadline);
  if (!link) co_return;
  std::vector<NodeRank> nodes = co_await claimed_nodes(*link, config_.run_id, nodes_.nnodes, deadline);
  co_await await_informed(*link, end_prefix(), std::move(nodes), deadline);
}

}  // namespace launch
