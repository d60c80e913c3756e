// The rendezvous of nodes that know their rank; node 0 hosts the store. After a failure all of them go on to the next
// attempt, if all are launch agents. Made by rendezvous_factory, used by AgentLoop. It hosts the store only as node 0,
// and never starts or ends a worker.
#pragma once

#include "launch/app/end_exchange.hpp"
#include "launch/app/rendezvous.hpp"
#include "launch/app/round_line.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/heartbeat.hpp"
#include "launch/core/rendezvous/static_rendezvous.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class StaticSession : public Rendezvous {
 public:
  // All references must outlive the object.
  StaticSession(boost::asio::any_io_executor executor, Config& config, StoreServer& server, Mailbox& mailbox);

  Status open() override;
  void join(bool admits, int restarts) override;
  void stop_joining() override;
  Duration longest_stall() const override { return launch::longest_stall(config_.heartbeat_timeout, config_.nnodes); }
  boost::asio::awaitable<void> tell(Failure failure) override;
  void enter_barrier() override;
  boost::asio::awaitable<Account> share(Account own, Failure first) override;
  boost::asio::awaitable<void> end(bool failed) override;
  void hurry() override;

 private:
  using Task = boost::asio::awaitable<void>;

  bool hosts() const { return config_.node_rank == 0; }
  std::string prefix() const { return attempt_prefix(config_.run_id, attempt_); }
  Task join_attempt(int attempt);
  enum class Joined {
    over,
    store_gone,  // without a word: node 0 may be started again, as long as the job has not formed
    rank_held,   // by an agent of this host that has ended; the store will notice
  };
  boost::asio::awaitable<Joined> join_once(int attempt);
  bool is_held_by_the_dead();
  boost::asio::awaitable<Result<Round>> form_on(std::shared_ptr<RoundLine> line);
  RoundLine::Place place(int attempt) const;
  Will will() const;
  Will will_in_barrier() const;
  Status listen();
  boost::asio::awaitable<bool> open_late(int attempt);
  Task look_for_another_node_0();
  Task announce(Waiting waiting, int attempt);
  Task leave_round(std::shared_ptr<RoundLine> line);
  Endpoint store_endpoint() const;
  StaticJob static_job() const;
  boost::asio::awaitable<Result<StoreClient>> connect_again(Time deadline);

  boost::asio::any_io_executor executor_;
  Config& config_;
  StoreServer& server_;
  Mailbox& mailbox_;
  Random random_;
  std::string identity_;  // this agent, among those that may claim its node rank
  int attempt_ = -1;      // the one that was joined last
  Time give_up_joining_ = never;
  std::string holder_;       // who has claimed this node's rank before
  Time held_until_ = never;  // the rank, by an agent that has ended
  std::optional<Endpoint> reached_;  // the store's address, once it has answered
  std::shared_ptr<RoundLine> line_;  // of the attempt
  // Of earlier ones, whose wills stand until that of the attempt does.
  std::vector<std::shared_ptr<RoundLine>> earlier_lines_;
  EndExchange exchange_;
  bool opens_late_ = false;  // the store's port was not free yet
  bool mixed_ = false;       // with torchrun's agents; known in the exit barrier
  bool formed_ = false;
  bool stopped_ = false;  // joining
  bool ending_ = false;
};

}  // namespace launch
