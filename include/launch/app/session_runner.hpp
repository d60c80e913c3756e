// Carries out what a Session wants and brings it what comes of that: connections, the stores of this node, its moments,
// lines to the user, news to the agent. Made by AgentLoop, which talks to the job's session through it. It decides
// nothing, and none of its calls waits unless it is a coroutine.
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/core/session/session.hpp"
#include "launch/io/store_client.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>

namespace launch {

class SessionRunner {
 public:
  // Both references must outlive it.
  SessionRunner(boost::asio::any_io_executor executor, const Config& config, Mailbox& mailbox);

  // As OpenSession and the events after it; tell(), share() and end() return when that is done.
  Status open();
  void join(bool admits, int restarts) { feed(JoinRound{admits, restarts}); }
  void stop_joining() { feed(StopJoining{}); }
  boost::asio::awaitable<void> tell(Failure failure);
  void enter_barrier() { feed(EnterExitBarrier{}); }
  boost::asio::awaitable<Account> share(Account own, Failure first);
  boost::asio::awaitable<void> end(bool failed);
  void hurry() { feed(HurrySession{}); }

 private:
  using Task = boost::asio::awaitable<void>;

  void feed(SessionEvent event);
  void set_timer();

  void carry_out(Ask action);
  void carry_out(const Beat& action);
  void carry_out(const WakeLink& action);
  void carry_out(const PartLink& action);
  void carry_out(const CloseLink& action);
  void carry_out(PrepareStore action);
  void carry_out(const FenceStore& action);
  void carry_out(const StopAwaiting& action);
  void carry_out(Tell action);
  void carry_out(const LimitGrace& action);
  void carry_out(const ForgetRound& action);
  void carry_out(const Say& action);
  void carry_out(SessionOpened action);
  void carry_out(const OthersTold& action);
  void carry_out(AccountShared action);
  void carry_out(const SessionEnded& action);

  void answer(QuestionId id, OpenLink question);
  void answer(QuestionId id, AskStore question);
  void answer(QuestionId id, const Listen& question);
  void answer(QuestionId id, const AwaitNoClients& question);
  void answer(QuestionId id, const FindFreePort& question);
  void answer(QuestionId id, LocateHost question);
  void answer(QuestionId id, const LookForAgent& question);
  Task open_link(QuestionId id, OpenLink question);
  Task ask_store(QuestionId id, std::shared_ptr<StoreClient> link, AskStore question);
  Task await_no_clients(QuestionId id, AwaitNoClients question);
  Task locate_host(QuestionId id, LocateHost question);
  StoreServer& server(OwnStore store) { return store == OwnStore::job ? job_store_ : workers_store_; }
  Task until(const bool& done);

  boost::asio::any_io_executor executor_;
  Mailbox& mailbox_;
  std::unique_ptr<Session> session_;
  StoreServer job_store_, workers_store_;
  std::map<LinkId, std::shared_ptr<StoreClient>> links_;
  std::deque<SessionEvent> events_;  // while one is being handled
  bool feeding_ = false;
  boost::asio::steady_timer moment_;
  boost::asio::steady_timer done_;  // something that a caller waits for
  std::optional<Status> opened_;
  bool told_ = false, shared_ = false, ended_ = false;
  Account account_;
};

}  // namespace launch
