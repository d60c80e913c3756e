#include "process.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

namespace launch::play {
using namespace std::chrono_literals;

namespace {

constexpr Duration poll = 5ms;  // to see whether clients are left

}  // namespace

Moment Process::moment() const {
  const Time now = network_.events().now();
  return {{now, WallTime(std::chrono::duration_cast<WallClock::duration>(now.time_since_epoch()) +
                         network_.clock_of(host_))},
          30s};
}

void Process::end() {
  if (!std::exchange(life_, nullptr)) return;
  for (const auto& [id, link] : links_) link->close();
  links_.clear();
  if (job_store_) network_.end_store(job_store_);
  if (workers_store_) network_.end_store(workers_store_);
}

void Process::vanish() {
  life_.reset();
  links_.clear();
}

void Process::when_awake(Time when, std::function<void()> what) {
  network_.events().at(when, [this, life = std::weak_ptr(life_), what = std::move(what)]() mutable {
    if (life.expired()) return;
    const Time thaw = network_.thaws_at(host_);
    if (network_.events().now() < thaw) return when_awake(thaw, std::move(what));
    what();
  });
}

void Process::wake_at(Time deadline, std::function<void()> on_moment) {
  if (deadline >= armed_) return;
  armed_ = deadline;
  when_awake(deadline, [this, deadline, on_moment = std::move(on_moment)] {
    if (armed_ != deadline) return;
    armed_ = never;
    on_moment();
  });
}

// ---- actions

void Process::carry_out(Ask action) {
  std::visit([this, id = action.id](const auto& question) { answer(id, question); }, action.question);
}

void Process::carry_out(const Beat& action) {
  const auto link = links_.find(action.link);
  if (link == links_.end()) return;
  if (action.interval) return link->second->set_beats(*action.interval, action.patience);
  link->second->set_patience(action.patience);
}

void Process::carry_out(const WakeLink& action) {
  if (const auto link = links_.find(action.link); link != links_.end()) link->second->wake();
}

void Process::carry_out(const PartLink& action) {
  if (const auto link = links_.extract(action.link)) link.mapped()->part();
}

void Process::carry_out(const CloseLink& action) {
  const auto link = links_.extract(action.link);
  if (!link) return;
  if (link.key() == watched_) last_answered_ = link.mapped()->lived_at();
  action.resets ? link.mapped()->abandon() : link.mapped()->close();
}

void Process::watch_answers() {
  const auto earlier = [](const auto& one, const auto& other) {
    return one.second->lived_at() < other.second->lived_at();
  };
  const auto last = std::max_element(links_.begin(), links_.end(), earlier);
  watched_ = last == links_.end() ? 0 : last->first;
  last_answered_ = {};
}

Time Process::last_answered() const {
  const auto watched = links_.find(watched_);
  return watched == links_.end() ? last_answered_ : watched->second->lived_at();
}

void Process::carry_out(const FenceStore& action) {
  const auto& store = action.store == OwnStore::job ? job_store_ : workers_store_;
  if (store) store->fence();
}

void Process::carry_out(const Say& action) {
  lines_.push_back(action.text);
  network_.events().remark(host_ + " says: " + action.text);
}

// ---- questions

void Process::answer(QuestionId id, const OpenLink& question) {
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

void Process::answer(QuestionId id, const AskStore& question) {
  const auto link = links_.find(question.link);
  if (link == links_.end()) return reply(id, Answered{Error{ErrorCode::closed, "the connection was closed"}});
  link->second->perform(question.operation, question.deadline,
                        [this, id, one = link->second.get(), life = std::weak_ptr(life_)](Result<Outcome> outcome) {
                          const bool hung_up = !outcome && !life.expired() && one->hung_up();
                          if (!life.expired())
                            reply(id, Answered{std::move(outcome), hung_up, one->lived_at(), one->heard_at()});
                        });
}

Listening Process::listen(const Listen& question) {
  auto& mine = question.store == OwnStore::job ? job_store_ : workers_store_;
  Listening listening;
  const std::shared_ptr<Store> door = question.store == OwnStore::job ? job_store_ : nullptr;
  auto opened = network_.listen(host_, question.at.port, hosts_by_launch_, door);
  if (opened) {
    mine = *opened;
    listening.port = question.at.port != 0 ? question.at.port : network_.port_of(*mine);
    if (!door && question.store == OwnStore::job) {
      mine->agents().table().preset(store_name_key(prepared_.name), "1");
      mine->set_silence_limit(prepared_.silence_limit);
      mine->agents().point_to(pointed_.key, pointed_.job);
      if (prepared_.nnodes > 0) {
        mine->agents().table().set_agent_keys(prepared_.agent_keys);
        mine->agents().expect_guests(prepared_.run_id, prepared_.nnodes);
      }
    }
  } else {
    listening.status = opened.error();
  }
  return listening;
}

// As io/store_server, the job's store that has a door already listens at another port, too.
void Process::answer(QuestionId id, const Listen& question) {
  const Listening listening = listen(question);
  if (listening.status && question.store == OwnStore::job) job_store_->agents().open_to_all();
  reply(id, listening);
}

void Process::answer(QuestionId id, const OpenDoor& question) {
  std::vector<std::uint16_t> ports = question.ports;
  ports.push_back(0);
  Listening opened;
  for (const std::uint16_t port : ports) {
    opened = listen({OwnStore::job, {question.address, port}, false, true});
    if (opened.status) break;
  }
  const Heir own{NodeRank::none(), question.own, {{}, prepared_.name}};
  if (opened.status) job_store_->agents().close_to_strangers(own);
  reply(id, DoorOpened{opened.port, opened.port != ports.front()});
}

void Process::answer(QuestionId id, const AwaitNoClients& question) {
  std::size_t left = 0;
  if (job_store_ && question.who == Clientele::busy) left = job_store_->agents().workers_may_run() ? 1 : 0;
  if (job_store_ && question.who == Clientele::agents) left = job_store_->agent_count();
  if (job_store_ && question.who == Clientele::all) left = job_store_->talker_count();
  const Time now = network_.events().now();
  if (left == 0 || hurried_ || now >= question.deadline) return reply(id, Clients{left, {}});
  when_awake(std::min(later(now, poll), question.deadline), [this, id, question] { answer(id, question); });
}

void Process::answer(QuestionId id, const FindFreePort& /*question*/) { reply(id, std::uint16_t{39999}); }

void Process::answer(QuestionId id, const LocateHost& question) {
  const bool here = question.host == host_ || question.host == "localhost";
  reply(id, Whereabouts{here, !here});
}

void Process::answer(QuestionId id, const LookForAgent& /*question*/) { reply(id, true); }

}  // namespace launch::play
