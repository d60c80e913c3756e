#include "launch/app/session_runner.hpp"

#include "launch/core/store/keys.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/guard.hpp"
#include "launch/io/host.hpp"
#include "launch/io/local_address.hpp"
#include "launch/io/log.hpp"
#include "launch/io/port_holder.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr std::size_t most_clients_named = 8;
constexpr Duration time_to_part = std::chrono::seconds(1);

// Our own pid does not count: it may have been another agent's before.
bool is_living_agent(pid_t pid) {
  const auto found = pid == ::getpid() ? std::nullopt : stat_of(pid);
  return found && found->name == agent_name && found->state != 'Z';
}

StoreServer::Talkers talkers_of(Clientele who) {
  if (who == Clientele::all) return StoreServer::Talkers::all;
  return who == Clientele::agents ? StoreServer::Talkers::agents : StoreServer::Talkers::busy;
}

}  // namespace

SessionRunner::SessionRunner(asio::any_io_executor executor, std::function<void(Answer)> on_answer)
    : executor_(executor),
      on_answer_(std::move(on_answer)),
      job_store_(executor, log_refusal),
      workers_store_(executor, log_refusal) {
  job_store_.on_objection(log_objection);
}

void SessionRunner::carry_out(Ask action) {
  std::visit([this, id = action.id](auto& question) { answer(id, std::move(question)); }, action.question);
}

void SessionRunner::carry_out(const Beat& action) {
  const auto link = links_.find(action.link);
  if (link == links_.end()) return;
  if (action.interval) return link->second->set_beats(*action.interval, action.patience);
  link->second->set_patience(action.patience);
}

void SessionRunner::carry_out(const WakeLink& action) {
  if (const auto link = links_.find(action.link); link != links_.end()) link->second->wake();
}

void SessionRunner::carry_out(const PartLink& action) {
  if (const auto link = links_.extract(action.link)) link.mapped()->part();
}

void SessionRunner::carry_out(const CloseLink& action) {
  const auto link = links_.extract(action.link);
  if (!link) return;
  if (link.key() == watched_) last_answered_ = link.mapped()->lived_at();
  action.resets ? link.mapped()->abandon() : link.mapped()->close();
}

void SessionRunner::carry_out(PrepareStore action) {
  if (!run_id_.empty()) job_store_.begin_anew();
  run_id_ = action.run_id;
  job_store_.preset(std::string(host_key), "1");
  store_name_ = action.name;
  if (!action.name.empty()) {
    job_store_.preset(store_name_key(action.name), "1");
    job_store_.reset_agents();
  }
  job_store_.set_silence_limit(action.silence_limit);
  if (action.nnodes == 0) return job_store_.note_into({});  // a c10d job: only agents use that store
  job_store_.set_agent_keys(std::move(action.agent_keys));
  job_store_.expect_guests(std::move(action.run_id), action.nnodes);
}

void SessionRunner::carry_out(const FenceStore& action) { server(action.store).fence(); }

void SessionRunner::carry_out(const StopAwaiting& /*action*/) { job_store_.stop_waiting(); }

void SessionRunner::carry_out(const Say& action) {
  switch (action.level) {
    case Say::Level::progress:
      return log_progress(action.text);
    case Say::Level::info:
      return log_info(action.text);
    case Say::Level::warning:
      return log_warning(action.text);
  }
}

std::function<Time()> SessionRunner::watch_answers() {
  const auto earlier = [](const auto& one, const auto& other) {
    return one.second->lived_at() < other.second->lived_at();
  };
  const auto last = std::max_element(links_.begin(), links_.end(), earlier);
  watched_ = last == links_.end() ? 0 : last->first;
  last_answered_ = {};
  return [this] { return last_answered(); };
}

Time SessionRunner::last_answered() const {
  const auto watched = links_.find(watched_);
  return watched == links_.end() ? last_answered_ : watched->second->lived_at();
}

// This process's own links to its store end, too: only others are waited for. The store sees that when it has parted,
// so it forms no round of those who are left.
asio::awaitable<void> SessionRunner::part() {
  if (store_name_.empty()) co_return;
  for (const auto& [id, link] : std::exchange(links_, {})) link->close();
  co_await job_store_.part(later(now(), time_to_part));
}

// ---- questions

void SessionRunner::reply(QuestionId id, AnswerValue value) {
  if (const std::string step = to_text(value); !step.empty()) log_detail(step);
  on_answer_({id, std::move(value)});
}

void SessionRunner::answer(QuestionId id, OpenLink question) {
  run_in_background(executor_, open_link(id, std::move(question)));
}

asio::awaitable<void> SessionRunner::open_link(QuestionId id, OpenLink question) {
  auto connected = co_await reach_store(std::move(question.endpoint), run_id_, question.deadline);
  Opened opened{question.link, {}, {}, {}};
  if (connected) {
    opened.peer = (*connected)->peer();
    opened.own_address = (*connected)->own_address();
    links_.emplace(question.link, *std::move(connected));
  } else {
    opened.status = connected.error();
  }
  reply(id, std::move(opened));
}

void SessionRunner::answer(QuestionId id, AskStore question) {
  const auto link = links_.find(question.link);
  if (link == links_.end()) return reply(id, Answered{Error{ErrorCode::closed, "the connection was closed"}});
  run_in_background(executor_, ask_store(id, link->second, std::move(question)));
}

asio::awaitable<void> SessionRunner::ask_store(QuestionId id, std::shared_ptr<StoreAccess> link, AskStore question) {
  auto outcome = co_await link->perform(std::move(question.operation), question.deadline);
  if (!outcome && link->silent()) outcome = Error{ErrorCode::silent, outcome.error().message};
  reply(id, Answered{std::move(outcome), link->hung_up(), link->lived_at(), link->heard_at()});
}

void SessionRunner::answer(QuestionId id, const Listen& question) {
  StoreServer& store = server(question.store);
  const Endpoint& at = question.at;
  Listening listening;
  if (question.quietly) {
    if (store.try_to_listen(at.host, at.port, question.loopback_only))
      listening.status = Error{ErrorCode::system, "the port is taken"};
  } else {
    listening.status = store.listen(at.host, at.port, question.loopback_only);
    listening.cooling = !listening.status && is_port_cooling(at.port);
  }
  listening.port = store.port();
  if (listening.status) store.open_to_all();
  reply(id, std::move(listening));
}

void SessionRunner::answer(QuestionId id, const OpenDoor& question) {
  job_store_.close_to_strangers({NodeRank::none(), question.own, {{}, store_name_}});
  std::vector<std::uint16_t> ports = question.ports;
  ports.push_back(0);
  bool taken = false;
  const auto opens = [&](std::uint16_t port) {
    const auto error = job_store_.try_to_listen(question.address, port, is_loopback(question.address));
    taken = taken || error == asio::error::address_in_use;
    return !error;
  };
  const bool opened = std::any_of(ports.begin(), ports.end(), opens);
  reply(id, DoorOpened{opened ? job_store_.port() : std::uint16_t{0}, taken});
}

void SessionRunner::answer(QuestionId id, const AwaitNoClients& question) {
  run_in_background(executor_, await_no_clients(id, question));
}

void SessionRunner::answer(QuestionId id, const CountNodes& /*question*/) {
  const Membership::Others others = job_store_.others();
  reply(id, Nodes{others.all, others.leaving});
}

asio::awaitable<void> SessionRunner::await_no_clients(QuestionId id, AwaitNoClients question) {
  co_await job_store_.until_none(talkers_of(question.who), question.deadline);
  reply(id, Clients{job_store_.talkers(), job_store_.talker_addresses(most_clients_named)});
}

void SessionRunner::answer(QuestionId id, const FindFreePort& /*question*/) { reply(id, free_port()); }

void SessionRunner::answer(QuestionId id, LocateHost question) {
  run_in_background(executor_, locate_host(id, std::move(question)));
}

asio::awaitable<void> SessionRunner::locate_host(QuestionId id, LocateHost question) {
  const Whereabouts found =
      co_await find_host(std::move(question.host), std::move(question.own_name), question.deadline);
  reply(id, found);
}

void SessionRunner::answer(QuestionId id, const LookForAgent& question) { reply(id, is_living_agent(question.pid)); }

}  // namespace launch
