#include "session_host.hpp"

#include "launch/core/session/session_factory.hpp"

#include <algorithm>
#include <utility>

namespace launch::play {
using namespace std::chrono_literals;

namespace {

constexpr Duration poll = 5ms;  // whether clients are left

}  // namespace

SessionHost::SessionHost(Network& network, std::string host, const Config& config, SessionEars ears)
    : network_(network), host_(std::move(host)), ears_(std::move(ears)) {
  session_ = make_session(config, {config.pid, network.events().random().next()});
}

Status SessionHost::open() {
  feed(OpenSession{});
  return *opened_;
}

void SessionHost::feed(SessionEvent event) {
  if (!session_) return;
  events_.push_back(std::move(event));
  if (std::exchange(feeding_, true)) return;
  while (session_ && !events_.empty()) {
    const SessionEvent next = std::move(events_.front());
    events_.pop_front();
    const Time now = network_.events().now();
    const WallTime wall(std::chrono::duration_cast<WallClock::duration>(now.time_since_epoch()));
    for (SessionAction& action : session_->on(next, {{now, wall}, 30s}))
      std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
  }
  feeding_ = false;
  if (session_) set_timer();
}

void SessionHost::end() {
  if (!session_) return;
  session_.reset();
  life_.reset();
  for (const auto& [id, link] : links_) link->close();
  links_.clear();
  if (job_store_) network_.end_store(job_store_);
  if (workers_store_) network_.end_store(workers_store_);
}

void SessionHost::vanish() {
  session_.reset();
  life_.reset();
  links_.clear();
}

void SessionHost::when_awake(Time when, std::function<void()> what) {
  network_.events().at(when, [this, life = std::weak_ptr(life_), what = std::move(what)]() mutable {
    if (life.expired()) return;
    const Time thaw = network_.thaws_at(host_);
    if (network_.events().now() < thaw) return when_awake(thaw, std::move(what));
    what();
  });
}

void SessionHost::set_timer() {
  const Time deadline = session_->deadline();
  if (deadline >= armed_ || deadline == never) return;
  armed_ = deadline;
  when_awake(deadline, [this, deadline] {
    if (armed_ != deadline) return;
    armed_ = never;
    feed(MomentReached{});
  });
}

// ---- actions

void SessionHost::carry_out(Ask action) {
  std::visit([this, id = action.id](const auto& question) { answer(id, question); }, action.question);
}

void SessionHost::carry_out(const Beat& action) {
  const auto link = links_.find(action.link);
  if (link == links_.end()) return;
  if (action.interval) return link->second->set_beats(*action.interval, action.patience);
  link->second->set_patience(action.patience);
}

void SessionHost::carry_out(const WakeLink& action) {
  if (const auto link = links_.find(action.link); link != links_.end()) link->second->wake();
}

void SessionHost::carry_out(const PartLink& action) {
  if (const auto link = links_.extract(action.link)) link.mapped()->part();
}

void SessionHost::carry_out(const CloseLink& action) {
  if (const auto link = links_.extract(action.link)) link.mapped()->close();
}

void SessionHost::carry_out(const FenceStore& action) {
  const auto& store = action.store == OwnStore::job ? job_store_ : workers_store_;
  if (store) store->fence();
}

// ---- questions

void SessionHost::answer(QuestionId id, const OpenLink& question) {
  network_.connect(host_, question.endpoint, question.deadline,
                   [this, id, number = question.link, life = std::weak_ptr(life_)](auto opened) {
                     if (life.expired()) return opened ? (*opened)->close() : void();
                     Opened answer{number, {}, {}, host_};
                     if (opened) {
                       answer.peer = (*opened)->peer();
                       links_.emplace(number, *opened);
                     } else {
                       answer.status = opened.error();
                     }
                     when_awake(network_.events().now(), [this, id, answer] { reply(id, answer); });
                   });
}

void SessionHost::answer(QuestionId id, const AskStore& question) {
  const auto link = links_.find(question.link);
  if (link == links_.end()) return reply(id, Answered{Error{ErrorCode::closed, "the connection was closed"}});
  link->second->perform(question.operation, question.deadline,
                        [this, id, life = std::weak_ptr(life_)](Result<Outcome> outcome) {
                          if (!life.expired()) reply(id, Answered{std::move(outcome)});
                        });
}

void SessionHost::answer(QuestionId id, const Listen& question) {
  auto& mine = question.store == OwnStore::job ? job_store_ : workers_store_;
  Listening listening;
  auto opened = network_.listen(host_, question.at.port);
  if (opened) {
    mine = *opened;
    listening.port = network_.port_of(*mine);
    if (question.store == OwnStore::job) {
      mine->set_silence_limit(prepared_.silence_limit);
      if (prepared_.nnodes > 0) {
        mine->agents().table().set_agent_keys(prepared_.agent_keys);
        mine->agents().expect_guests(prepared_.run_id, prepared_.nnodes);
      }
    }
  } else {
    listening.status = opened.error();
  }
  reply(id, std::move(listening));
}

void SessionHost::answer(QuestionId id, const AwaitNoClients& question) { await_no_clients(id, question); }

void SessionHost::await_no_clients(QuestionId id, AwaitNoClients question) {
  const std::size_t left = !job_store_            ? 0
                           : question.agents_only ? job_store_->agent_count()
                                                  : job_store_->talker_count();
  const Time now = network_.events().now();
  if (left == 0 || hurried_ || now >= question.deadline) return reply(id, Clients{left, {}});
  when_awake(std::min(later(now, poll), question.deadline), [this, id, question] { await_no_clients(id, question); });
}

void SessionHost::answer(QuestionId id, const FindFreePort& /*question*/) { reply(id, std::uint16_t{39999}); }

void SessionHost::answer(QuestionId id, const LocateHost& question) {
  reply(id, Whereabouts{question.host == host_ || question.host == "localhost", false});
}

void SessionHost::answer(QuestionId id, const LookForAgent& /*question*/) { reply(id, true); }

}  // namespace launch::play
