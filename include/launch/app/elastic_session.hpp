// The c10d rendezvous of this node: carries out ElasticRendezvous on a connection of its own, hosts the store where the
// endpoint leads here, and, as rank 0 of a round, the store of the workers. Round after round until the job ends.
#pragma once

#include "launch/app/end_exchange.hpp"
#include "launch/app/rendezvous.hpp"
#include "launch/app/round_line.hpp"
#include "launch/app/worker_meeting.hpp"
#include "launch/core/config.hpp"
#include "launch/core/elastic_rendezvous.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>

namespace launch {

class ElasticSession : public Rendezvous {
 public:
  // All references must outlive the object.
  ElasticSession(boost::asio::any_io_executor executor, const Config& config, StoreServer& server, Mailbox& mailbox);

  boost::asio::awaitable<Status> open() override;
  void join() override;
  void stop_joining() override;
  boost::asio::awaitable<void> tell(Failure failure) override;
  void enter_barrier() override;
  boost::asio::awaitable<Account> share(Account own, Failure first) override;
  boost::asio::awaitable<void> end(bool failed) override;
  void hurry() override;

 private:
  using Task = boost::asio::awaitable<void>;

  // The state's connection.
  Task run();
  boost::asio::awaitable<bool> connect();
  void try_to_host();
  boost::asio::awaitable<Error> pursue();
  Task announce(RoundWaits waits, int generation);
  Task take(ElasticNews news);
  Task explain_refusal(RoundRefused refused);
  Task explain_break(RoundBroken broken, std::shared_ptr<RoundLine> line);
  void wake();

  // One round.
  Task form_round(RoundFormed formed, int generation);
  boost::asio::awaitable<int> count_restarts(std::shared_ptr<RoundLine> line);

  boost::asio::awaitable<Result<StoreClient>> connect_again(Time deadline);
  boost::asio::awaitable<std::optional<Failure>> read_abort(std::string prefix);
  std::string job_prefix() const { return "torch.rendezvous." + config_.run_id; }
  std::string restarts_key() const { return "/" + job_prefix() + "/launch/restarts"; }
  bool others_go_on() const;
  bool mixed() const;
  std::vector<int> launch_nodes() const;
  Task await_end(Time deadline);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  StoreServer& server_;
  WorkerMeeting meeting_;
  Mailbox& mailbox_;
  Random random_;
  ElasticRendezvous machine_;
  bool hosts_ = false;
  bool could_host_ = false;          // but another agent of this machine did
  std::string address_;              // of this node, for the workers of others
  std::optional<Endpoint> reached_;  // the store's address, once it has answered
  std::optional<StoreClient> state_client_;
  std::shared_ptr<RoundLine> line_;  // of the round
  std::vector<NodeDesc> members_;    // of the round, by rank
  int generation_ = 0;               // rounds that were joined
  int restarts_ = 0;                 // before this round
  bool running_ = false;             // run()
  bool formed_once_ = false;         // a round, at this node
  bool left_ = false;                // by a signal: the others may go on
  bool ending_ = false;
  bool ended_ = false;  // what the machine was asked for at the end is done
  EndExchange exchange_;
  boost::asio::steady_timer end_timer_;
};

}  // namespace launch
