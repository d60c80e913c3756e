// Answers what launch-ctl asks of this node, at its door or through another node: it looks at the workers, takes their
// stacks, sends them signals, or stops the job; and it passes on what concerns all nodes. AgentLoop owns it for the
// life of the process. Nothing is looked at, and nobody is woken, as long as nobody asks.
#pragma once

#include "launch/app/hang_desk.hpp"
#include "launch/app/job_record.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/door.hpp"
#include "launch/io/worker_look.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

class ControlDesk {
 public:
  // What it looks at; all of it outlives the desk.
  struct Job {
    const Config& config;
    const Node& node;
    WorkerGroup& workers;
    JobRecord& record;
    const Round& round;
  };
  struct Deeds {
    std::function<void(NodeEvent)> feed;
    std::function<void(pid_t asker)> stop;  // stops this node, as SIGTERM does
  };
  ControlDesk(boost::asio::any_io_executor executor, Job job, Deeds deeds);

  // Without a door the job runs all the same.
  void open();
  // Workers are about to be started.
  void begin();
  void ended(LocalRank local_rank, ExitStatus status);
  void take(const Asked& asked);
  void take(const JobAnswered& answered);

 private:
  struct Others {
    explicit Others(const boost::asio::any_io_executor& executor) : come(executor) {}
    boost::asio::steady_timer come;
    std::optional<JobAnswered> answered;
  };
  using Workers = std::vector<std::pair<LocalRank, pid_t>>;
  using Sights = std::map<pid_t, WorkerSight>;

  boost::asio::awaitable<std::string> serve(std::string line, pid_t visitor);
  // The answers of this node and, if the request says so, of all others.
  boost::asio::awaitable<std::string> ask(ControlRequest request);
  boost::asio::awaitable<std::vector<NodeReport>> ask_all(ControlRequest::Verb verb);
  boost::asio::awaitable<std::string> ask_others(ControlRequest request);
  boost::asio::awaitable<void> answer_other(Asked asked);
  boost::asio::awaitable<NodeReport> answer(ControlRequest request);
  boost::asio::awaitable<NodeReport> report(bool closely);
  boost::asio::awaitable<void> add_sights(NodeReport& report);
  boost::asio::awaitable<std::optional<Sights>> look();
  boost::asio::awaitable<void> add_stacks(NodeReport& report, std::optional<int> rank);
  NodeReport about_node() const;
  WorkerReport about_worker(LocalRank local_rank, const Workers& running) const;
  std::string send(const ControlRequest& request);
  bool is_meant(const ControlRequest& request, LocalRank local_rank) const;

  boost::asio::any_io_executor executor_;
  Job job_;
  Deeds deeds_;
  Door door_;
  DiskThread disk_;
  HangDesk hangs_;
  std::uint64_t questions_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Others>> waiting_;
  std::map<LocalRank, std::string> ends_;  // of workers of this round
  Time opened_{};
  std::optional<Time> began_;
  std::string since_;
};

}  // namespace launch
