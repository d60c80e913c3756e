// One node of the job, from the listener to the exit code: feeds Agent with what happens and carries out what it says.
#pragma once

#include "launch/app/job_folder.hpp"
#include "launch/app/mailbox.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/config.hpp"
#include "launch/core/static_rendezvous.hpp"
#include "launch/io/signals.hpp"
#include "launch/io/store_client.hpp"
#include "launch/io/store_server.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class AgentLoop {
 public:
  AgentLoop(boost::asio::any_io_executor executor, Config config, const SignalPlan& signals, rlimit open_files);

  // Opens the store's listener where this node hosts it: before anything else, so that a busy port costs nothing.
  Status open_store();

  // The exit code of launch.
  boost::asio::awaitable<int> run();

 private:
  using Task = boost::asio::awaitable<void>;

  bool hosts() const { return config_.node_rank == 0; }
  bool alone() const { return config_.nnodes == 1; }

  // Sources of events.
  Task watch_signals();
  Task join();
  Task watch_abort();
  Task look_for_another_node_0();
  Task leave();
  void worker_exited(int local_rank, pid_t pid, ExitStatus status);
  void look_for_end();

  // Actions.
  Task carry_out(AgentAction action);
  Task carry_out_one(StartRendezvous action);
  Task carry_out_one(StopRendezvous action);
  Task carry_out_one(StartWorkers action);
  Task carry_out_one(SignalWorkers action);
  Task carry_out_one(KillWorkers action);
  Task carry_out_one(TellPeers action);
  Task carry_out_one(EnterBarrier action);
  Task carry_out_one(Finish action);

  boost::asio::awaitable<Result<Failure>> tell(Failure failure);
  Task see_peers_off(bool failed);
  void say_end(const Finish& end);
  Failure worker_failure(int local_rank, pid_t pid, ExitStatus status) const;
  StaticJob static_job() const;
  Endpoint store_endpoint() const;
  // To the address that answered first, so that no name is looked up again.
  boost::asio::awaitable<Result<StoreClient>> connect_again(Time deadline);

  boost::asio::any_io_executor executor_;
  Config config_;
  SignalStream signals_;
  Random random_;
  StoreServer server_;
  Agent agent_;
  Mailbox mailbox_;
  WorkerGroup workers_;
  JobFolder folder_;
  std::string identity_;  // this agent, among those that may claim its node rank
  Assignment assignment_;
  Time give_up_joining_ = never;
  std::optional<Endpoint> reached_;     // the store's address, once it has answered
  std::optional<StoreClient> control_;  // the rendezvous and the exit barrier
  std::optional<StoreClient> watch_;    // waits for the abort key
  bool started_ = false;                // workers: before, what ends is none of ours
  bool leaving_ = false;                // a connection that ends is our own doing
  std::optional<int> exit_code_;
};

}  // namespace launch
