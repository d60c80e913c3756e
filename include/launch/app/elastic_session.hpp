// The c10d rendezvous of this node: what the ElasticLine tells of rounds becomes rounds with ranks and a place where
// the workers meet, which is here where this node has rank 0. Round after round until the job ends. Made by
// rendezvous_factory, used by AgentLoop. It never starts or ends a worker.
#pragma once

#include "launch/app/elastic_line.hpp"
#include "launch/app/end_exchange.hpp"
#include "launch/app/rendezvous.hpp"
#include "launch/app/round_line.hpp"
#include "launch/app/worker_meeting.hpp"
#include "launch/core/config/config.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace launch {

class ElasticSession : public Rendezvous {
 public:
  // All references must outlive the object.
  ElasticSession(boost::asio::any_io_executor executor, const Config& config, StoreServer& server, Mailbox& mailbox);

  Status open() override;
  void join(bool admits, int restarts) override;
  void stop_joining() override;
  bool may_leave() const override;
  Duration longest_stall() const override {
    return line_ && line_->place().nnodes > 1 ? state_.longest_stall(launch_nodes().size() > 1) : Duration();
  }
  boost::asio::awaitable<void> tell(Failure failure) override;
  void enter_barrier() override;
  boost::asio::awaitable<Account> share(Account own, Failure first) override;
  boost::asio::awaitable<void> end(bool failed) override;
  void hurry() override;

 private:
  using Task = boost::asio::awaitable<void>;

  // What the line tells.
  ElasticLine::Listener listener();
  void doubt(bool silent);
  Duration grace() const;
  void take(ElasticNews news);
  Task announce(RoundWaits waits, int generation);
  Task explain_refusal(RoundRefused refused);
  Task explain_break(RoundBroken broken, std::shared_ptr<RoundLine> line, int generation);
  boost::asio::awaitable<bool> have_all_ended(std::string prefix);
  Task explain_expulsion(std::shared_ptr<RoundLine> line);

  // One round.
  Task form_round(RoundFormed formed, int generation);
  Task begin_round(RoundFormed formed, int generation);
  boost::asio::awaitable<Result<Round>> exchange_ranks(StoreClient& control, RoundFormed formed);
  boost::asio::awaitable<int> count_restarts(std::shared_ptr<RoundLine> line, std::int64_t round);

  boost::asio::awaitable<Result<StoreClient>> connect_again(Time deadline);
  boost::asio::awaitable<std::optional<Failure>> read_abort(std::string prefix);
  bool mixed() const { return !torchrun_.empty(); }
  std::vector<int> launch_nodes() const;
  bool hosts_a_store() const { return state_.hosts() || meeting_.hosts(); }

  boost::asio::any_io_executor executor_;
  const Config& config_;
  StoreServer& server_;
  WorkerMeeting meeting_;
  Mailbox& mailbox_;
  Random random_;
  ElasticLine state_;
  std::shared_ptr<RoundLine> line_;     // of the round
  std::shared_ptr<RoundLine> barrier_;  // the same, once this node is in its exit barrier
  std::shared_ptr<StoreClient> late_;   // tells torchrun's agents of a round that broke up before it had begun
  std::int64_t forming_ = -1;           // the last round that this node heard of
  bool stranger_ = false;               // to the job: it has refused this node
  std::vector<int> torchrun_;           // ranks of torchrun's nodes in it
  std::optional<Round> pledged_;        // to be told of, once the will is left
  int generation_ = 0;                  // rounds that were joined
  int restarts_ = 0;                    // before this round
  bool doubted_ = false;                // it starts anew since the store is silent
  int gone_ = -1;                       // the node whose loss has broken the round up
  bool left_ = false;                   // by a signal: the others may go on
  bool ending_ = false;
  EndExchange exchange_;
};

}  // namespace launch
