// Carries out what a session asks of the network (connections, the stores of this node, lines to the user), and answers
// its questions. Only AgentLoop uses it, and feeds the answers to the node. It decides nothing, and none of its calls
// waits.
#pragma once

#include "launch/core/session/session_action.hpp"
#include "launch/io/store_access.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace launch {

class SessionRunner {
 public:
  // `on_answer` may be called while a question is being carried out.
  SessionRunner(boost::asio::any_io_executor executor, std::function<void(Answer)> on_answer);

  // Requests to the stores of this node are counted there, and processes that connect are noted. Must be called before
  // anything else.
  void count_into(const std::shared_ptr<StoreTally>& tally, const std::shared_ptr<ClientArrivals>& arrivals) {
    for (StoreServer* const store : {&job_store_, &workers_store_}) {
      store->count_into(tally);
      store->note_into(arrivals);
    }
  }

  void carry_out(Ask action);
  void carry_out(const Beat& action);
  void carry_out(const WakeLink& action);
  void carry_out(const PartLink& action);
  void carry_out(const CloseLink& action);
  void carry_out(PrepareStore action);
  void carry_out(PointTo action) { job_store_.point_to(std::move(action.key), std::move(action.job)); }
  void carry_out(const FenceStore& action);
  void carry_out(const StopAwaiting& action);
  void carry_out(const Say& action);

  // The last call before this process ends: those who talk to the job's store must not lose what it has said.
  boost::asio::awaitable<void> part();

  // Called when workers start, which depend on the store whose link beats now. What it returns tells when the last
  // message on that link that has been answered was sent, even if the link has ended; it must not outlive this.
  std::function<Time()> watch_answers();

 private:
  using Task = boost::asio::awaitable<void>;

  Time last_answered() const;

  void answer(QuestionId id, OpenLink question);
  void answer(QuestionId id, AskStore question);
  void answer(QuestionId id, const Listen& question);
  void answer(QuestionId id, const OpenDoor& question);
  void answer(QuestionId id, const AwaitNoClients& question);
  void answer(QuestionId id, const CountNodes& question);
  void answer(QuestionId id, const FindFreePort& question);
  void answer(QuestionId id, LocateHost question);
  void answer(QuestionId id, const LookForAgent& question);
  Task open_link(QuestionId id, OpenLink question);
  Task ask_store(QuestionId id, std::shared_ptr<StoreAccess> link, AskStore question);
  Task await_no_clients(QuestionId id, AwaitNoClients question);
  Task locate_host(QuestionId id, LocateHost question);
  StoreServer& server(OwnStore store) { return store == OwnStore::job ? job_store_ : workers_store_; }
  void reply(QuestionId id, AnswerValue value);

  boost::asio::any_io_executor executor_;
  std::function<void(Answer)> on_answer_;
  StoreServer job_store_, workers_store_;
  std::string run_id_;
  std::string store_name_;
  std::map<LinkId, std::shared_ptr<StoreAccess>> links_;
  LinkId watched_ = 0;
  Time last_answered_{};  // on the watched link, if that is closed
};

}  // namespace launch
