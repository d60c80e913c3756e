#include "launch/core/c10d/version_rendezvous.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;
using Break = RoundBroken::Cause;

// As torchrun has them: CONST_ETCD_SETUP_TTL, CONST_ETCD_FROZEN_TTL and CONST_ETCD_JOINABLE_EPHEMERAL_TTL,
// CONST_WORKER_KEEPALIVE_TTL, CONST_RUNID_SUBROOT_TTL.
constexpr Duration setup_lasts = 5s;
constexpr Duration forming_lasts = 10s;
constexpr Duration lease_lasts = 10s;
constexpr Duration folder_lasts = 2h;

constexpr Duration poll_forming = 200ms;
constexpr Duration poll_running = 500ms;
constexpr Duration between_checks = 1s;

}  // namespace

VersionRendezvous::VersionRendezvous(ElasticSettings settings, std::string root, Random random)
    : settings_(std::move(settings)), root_(std::move(root)), lost_writes_(random) {}

std::string VersionRendezvous::key() const { return active_version_key(root_); }

ElasticStep VersionRendezvous::start(Instant now) { return {found(now.time), {}}; }

// A lease of the version before runs out, by which torchrun's agents see that it is over.
void VersionRendezvous::join(Time now, int /*restarts*/) {
  if (goal_ == Goal::close) return;
  goal_ = Goal::join;
  give_up_ = later(now, settings_.join_timeout);
  report_ = later(now, first_elastic_report);
  told_broken_ = spare_ = false;
  lease_.clear();
}

void VersionRendezvous::close(Time now) {
  goal_ = Goal::close;
  give_up_ = later(now, settings_.close_timeout);
}

void VersionRendezvous::leave(Time now, std::string /*reason*/) {
  if (goal_ == Goal::close) return;
  goal_ = Goal::leave;
  give_up_ = later(now, settings_.close_timeout);
}

Result<ElasticStep> VersionRendezvous::on(const Outcome& outcome, Instant now) {
  const Time time = now.time;
  switch (phase_) {
    case Phase::founding:
      renew_folder_ = later(time, folder_lasts / 2);
      return ElasticStep{ask(Phase::counting, CompareSet{version_counter_key(root_), "", "0"}, time), {}};
    case Phase::leasing:
      renew_lease_ = later(time, lease_lasts / 2);
      return ElasticStep{read(time), {}};
    case Phase::pausing:
      if (time >= renew_folder_) return start(now);
      return ElasticStep{!lease_.empty() && time >= renew_lease_ ? renew(time) : read(time), {}};
    case Phase::counting:
    case Phase::departing:
      return ElasticStep{read(time), {}};
    case Phase::numbering:
    case Phase::raising:
      return number(outcome, time);
    case Phase::checking: {
      const std::vector<bool>& present = std::get<Presence>(outcome).present;
      const auto lost = std::find(present.begin(), present.end(), false);
      if (lost != present.end()) lost_ = checked_.at(static_cast<std::size_t>(lost - present.begin()));
      check_again_ = later(time, between_checks);
      return act(time);
    }
    case Phase::reading:
    case Phase::writing:
      return take(std::get<Values>(outcome).values.at(0), time);
  }
  return ElasticStep{read(time), {}};
}

Result<ElasticStep> VersionRendezvous::take(const std::string& text, Time now) {
  if (phase_ == Phase::writing) lost_writes_.note(text != written_);
  auto state = read_version_state(text);
  if (!state) return Error{state.error().code, fmt::format("key {}: {}", key(), state.error().message)};
  const bool other = state->version != state_.version || state->status != state_.status;
  if (other) {
    lost_.reset();
    check_again_ = {};
  }
  state_ = *std::move(state);
  text_ = text;
  return act(now);
}

// ---- operations

Operation VersionRendezvous::ask(Phase phase, Operation operation, Time now) {
  phase_ = phase;
  deadline_ = later(now, store_answer_time);
  return operation;
}

Operation VersionRendezvous::found(Time now) { return ask(Phase::founding, SetKeys{{{root_, ""}}, folder_lasts}, now); }

Operation VersionRendezvous::read(Time now) { return ask(Phase::reading, GetKeys{{key()}}, now); }

Operation VersionRendezvous::write(const VersionState& next, Duration lasts, Time now) {
  if (const auto backoff = lost_writes_.pause()) {
    phase_ = Phase::pausing;
    deadline_ = later(now, *backoff);
    return AwaitKeys{{std::string(never_key)}};
  }
  written_ = write_version_state(next);
  return ask(Phase::writing, CompareSet{key(), text_, written_, lasts}, now);
}

Operation VersionRendezvous::renew(Time now) { return ask(Phase::leasing, SetKeys{{{lease_, ""}}, lease_lasts}, now); }

std::optional<Operation> VersionRendezvous::check(const std::vector<int>& ranks, Time now) {
  if (now < check_again_) {
    wake_by(check_again_);
    return std::nullopt;
  }
  CheckKeys leases;
  for (const int rank : ranks) leases.keys.push_back(lease_key(root_, state_.version, rank));
  checked_ = ranks;
  return ask(Phase::checking, std::move(leases), now);
}

Operation VersionRendezvous::pause(Time now) {
  const bool forms = goal_ == Goal::join && state_.status != Step::final;
  wake_by(later(now, forms ? poll_forming : poll_running));
  if (!lease_.empty()) wake_by(renew_lease_);
  phase_ = Phase::pausing;
  deadline_ = wake_;
  return AwaitKeys{{std::string(never_key)}};
}

// This node has written that it numbers a version. If it is too slow for that, somebody else may do so.
Result<ElasticStep> VersionRendezvous::number(const Outcome& outcome, Time now) {
  const std::string& text = std::get<Values>(outcome).values.at(0);
  if (text.empty()) {  // somebody has removed it; after a pause it is made again, along with the folder
    renew_folder_ = now;
    wake_ = never;
    return ElasticStep{pause(now), {}};
  }
  const auto held = parse_int(text);
  if (!held || *held < 0)
    return protocol_error(fmt::format("key {}: {} is no count of versions", version_counter_key(root_), shown(text)));
  if (phase_ == Phase::raising) return ElasticStep{*held == counter_ ? make_joinable(now) : read(now), {}};
  counter_ = *held + 1;
  CompareSet raise{version_counter_key(root_), text, std::to_string(counter_)};
  return ElasticStep{ask(Phase::raising, std::move(raise), now), {}};
}

Operation VersionRendezvous::make_joinable(Time now) {
  VersionState next;
  next.status = Step::joinable;
  next.version = counter_;
  return write(next, {}, now);
}

// ---- what this node wants

ElasticStep VersionRendezvous::act(Time now) {
  wake_ = never;
  auto operation = pursue(now);
  if (!operation) operation = pause(now);
  return {*std::move(operation), std::exchange(news_, {})};
}

std::optional<Operation> VersionRendezvous::pursue(Time now) {
  switch (goal_) {
    case Goal::none:
      return std::nullopt;
    case Goal::join:
      return try_join(now);
    case Goal::member:
      return stay(now);
    case Goal::leave:
      return depart(now);
    case Goal::close:
      return shut(now);
  }
  return std::nullopt;
}

std::optional<Operation> VersionRendezvous::try_join(Time now) {
  if (state_.status == Step::closed) {
    refuse(ErrorCode::closed, "the rendezvous is closed");
    return std::nullopt;
  }
  if (formed()) return stay(now);
  if (refuses_when_late(now)) {
    const bool forms = state_.status == Step::joinable || state_.status == Step::frozen;
    if (forms && has_joined()) return write(VersionState(), {}, now);  // else the others would wait for it
    refuse(ErrorCode::timeout, fmt::format("the rendezvous timed out after {}: {} of at least {} nodes joined",
                                           to_text(settings_.join_timeout), came_, settings_.nodes.min));
    return std::nullopt;
  }
  report(now);
  switch (state_.status) {
    case Step::absent: {
      VersionState next;
      next.status = Step::setup;
      next.founder = settings_.self;
      return write(next, setup_lasts, now);
    }
    case Step::setup:
      if (written_ == text_) return ask(Phase::numbering, GetKeys{{version_counter_key(root_)}}, now);
      return std::nullopt;
    case Step::joinable:
      return has_joined() ? call_last(now) : enter(now);
    case Step::frozen:
      return has_joined() ? confirm(now) : std::nullopt;
    case Step::final:
      return await_end(now);
    case Step::closed:
      break;
  }
  return std::nullopt;
}

void VersionRendezvous::refuse(ErrorCode code, std::string message) {
  goal_ = Goal::none;
  news_.emplace_back(RoundRefused{{code, std::move(message)}, spare_, state_.status == Step::final && !round_});
}

// A spare stands by for as long as the job runs.
bool VersionRendezvous::refuses_when_late(Time now) {
  const bool waits = state_.status == Step::final;
  spare_ = waits && state_.version != round_ && (!admits_ || state_.participants >= settings_.nodes.max);
  if (spare_) give_up_ = later(now, settings_.join_timeout);
  wake_by(give_up_);
  if (now < give_up_) return false;
  const bool joins = state_.status == Step::joinable || state_.status == Step::frozen;
  if (joins) came_ = state_.participants;
  if (waits) came_ = state_.waiting;
  return true;
}

void VersionRendezvous::report(Time now) {
  wake_by(report_);
  if (now < report_) return;
  report_ = later(now, settings_.report_interval);
  wake_by(report_);
  const bool runs = state_.status == Step::final;
  news_.emplace_back(RoundWaits{runs ? state_.waiting : state_.participants, spare_, give_up_ - now, runs || round_});
}

// Its write is lost if another one was first; then it looks again.
std::optional<Operation> VersionRendezvous::enter(Time now) {
  if (state_.participants >= settings_.nodes.max) {  // those that joined have another maximum, also if they are dead
    constexpr auto words =
        "the version that forms has {} nodes, and --nnodes allows {} in all; give the job another --rdzv-id";
    refuse(ErrorCode::conflict, fmt::format(words, state_.participants, settings_.nodes.max));
    return std::nullopt;
  }
  VersionState next = state_;
  next.launch[next.participants++] = settings_.self;
  attempted_ = next.version;
  if (next.participants == settings_.nodes.max) next.status = Step::frozen;
  const bool enough = next.participants >= settings_.nodes.min;
  return write(next, enough ? forming_lasts : Duration::zero(), now);
}

// The node that has made them enough waits for more. If it dies meanwhile, the state runs out.
std::optional<Operation> VersionRendezvous::call_last(Time now) {
  if (own_rank() != settings_.nodes.min - 1) return std::nullopt;
  if (std::exchange(called_, state_.version) != state_.version) {
    last_call_ = later(now, settings_.last_call_timeout);
    renew_call_ = later(now, forming_lasts / 2);
  }
  VersionState next = state_;
  if (now >= last_call_) {
    next.status = Step::frozen;
    return write(next, forming_lasts, now);
  }
  if (now >= renew_call_) {
    renew_call_ = later(now, forming_lasts / 2);
    written_ = text_;
    return ask(Phase::writing, CompareSet{key(), text_, text_, forming_lasts}, now);
  }
  wake_by(std::min(last_call_, renew_call_));
  return std::nullopt;
}

std::optional<Operation> VersionRendezvous::confirm(Time now) {
  const std::string own = lease_key(root_, state_.version, *own_rank());
  if (std::exchange(lease_, own) != own) return renew(now);
  const auto& confirmed = state_.keep_alives;
  if (std::find(confirmed.begin(), confirmed.end(), own) != confirmed.end()) return std::nullopt;
  VersionState next = state_;
  next.keep_alives.push_back(own);
  const bool all = static_cast<int>(next.keep_alives.size()) == next.participants;
  if (all) next.status = Step::final;
  return write(next, all ? Duration::zero() : forming_lasts, now);
}

// The version has become final with this node in it, and is not the one that it left.
bool VersionRendezvous::formed() {
  const bool is_new = state_.status == Step::final && has_joined() && !lease_.empty() && state_.version != round_;
  if (!is_new) return false;
  goal_ = Goal::member;
  round_ = state_.version;
  members_ = state_;
  rank_ = *own_rank();
  RoundFormed news{state_.version, NodeRank(rank_), state_.participants, {}, {}, std::nullopt};
  if (const auto first = state_.launch.find(0); first != state_.launch.end()) news.leader = first->second;
  for (int rank = 0; rank < state_.participants; ++rank)
    if (!state_.launch.contains(rank)) news.torchrun.emplace_back(rank);
  news_.emplace_back(std::move(news));
  return true;
}

// A version runs, and this node waits until it ends: as one that was in it, or as one that comes.
std::optional<Operation> VersionRendezvous::await_end(Time now) {
  const bool was_member = state_.version == round_;
  const VersionState nothing;
  if (was_member && state_.all_launch()) return write(nothing, {}, now);  // the others see that it is gone
  // torchrun's members must have seen that nodes wait: they never look whether the version is still theirs.
  const bool seen = state_.all_launch() || now >= later(announced_at_, torchrun_looks);
  if ((!spare_ || (lost_ && !state_.all_launch())) && announced_ != state_.version) return announce(now);
  const bool over = lost_ || (was_member && members_that_wait(state_, members_) >= state_.participants);
  if (over && seen) return write(nothing, {}, now);
  return check(was_member ? std::vector<int>(1, rank_) : all_ranks(state_), now);
}

std::optional<Operation> VersionRendezvous::announce(Time now) {
  if (state_.launch_waiting.contains(settings_.self)) {
    announced_ = state_.version;
    announced_at_ = now;
    return std::nullopt;
  }
  VersionState next = state_;
  ++next.waiting;
  next.launch_waiting.insert(settings_.self);
  return write(next, {}, now);
}

std::optional<Operation> VersionRendezvous::stay(Time now) {
  if (told_broken_) return std::nullopt;
  if (auto broken = find_break()) {
    told_broken_ = true;
    news_.emplace_back(*std::move(broken));
    return std::nullopt;
  }
  return check(neighbours(members_, rank_), now);
}

std::optional<RoundBroken> VersionRendezvous::find_break() const {
  const bool same = state_.version == round_ && (state_.status == Step::final || state_.status == Step::closed);
  if (!same)
    return RoundBroken{"another node has ended the round", members_.all_launch() ? Break::restart : Break::change};
  if (lost_) return RoundBroken{name_of(members_, *lost_) + " stopped responding", Break::loss, NodeRank(*lost_)};
  for (const auto& [rank, node] : members_.launch)
    if (state_.launch_waiting.contains(node)) return RoundBroken{to_text(node) + " restarts", Break::restart};
  if (state_.waiting > static_cast<int>(state_.launch_waiting.size()))
    return RoundBroken{"a node of torchrun joins or restarts"};
  if (admits_ && !state_.launch_waiting.empty()) return RoundBroken{to_text(*state_.launch_waiting.begin()) + " joins"};
  return std::nullopt;
}

std::optional<Operation> VersionRendezvous::depart(Time now) {
  const bool forms = state_.status == Step::joinable || state_.status == Step::frozen;
  if (forms && has_joined() && now < give_up_) return write(VersionState(), {}, now);
  if (const std::string lease = std::exchange(lease_, ""); !lease.empty())
    return ask(Phase::departing, DeleteKeys{{lease}}, now);
  goal_ = Goal::none;
  news_.emplace_back(RendezvousEnded{});
  return std::nullopt;
}

std::optional<Operation> VersionRendezvous::shut(Time now) {
  if (state_.status != Step::closed && now < give_up_) {
    VersionState next = state_;
    next.status = Step::closed;
    return write(next, {}, now);
  }
  goal_ = Goal::none;
  news_.emplace_back(RendezvousEnded{});
  return std::nullopt;
}

}  // namespace launch
