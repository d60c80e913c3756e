// What this node answers when launch-ctl asks it, and what it does then: it looks at the workers, reads their logs,
// takes their stacks, sends them signals, or tells the agent that a user wants a restart or wants this node to leave.
// ControlDesk owns it for the life of the process. Nothing is looked at as long as nobody asks, and a disk that stalls
// holds up only the answer.
#pragma once

#include "launch/app/gpu_desk.hpp"
#include "launch/app/job_record.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/log_reader.hpp"
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
#include <utility>
#include <vector>

#include <sys/types.h>

namespace launch {

class NodeAnswers {
 public:
  // What it looks at; all of it outlives this object.
  struct Job {
    const Config& config;
    const Node& node;
    WorkerGroup& workers;
    JobRecord& record;
    const Round& round;
  };
  using Feed = std::function<void(NodeEvent)>;
  NodeAnswers(boost::asio::any_io_executor executor, Job job, Feed feed);

  // Workers are about to be started.
  void begin();
  void ended(LocalRank local_rank, ExitStatus status);
  boost::asio::awaitable<NodeReport> answer(ControlRequest request);
  // Waits a moment for those that follow the logs of workers that have ended.
  boost::asio::awaitable<void> farewell();

 private:
  using Workers = std::vector<std::pair<LocalRank, pid_t>>;
  using Sights = std::map<pid_t, WorkerSight>;
  struct Deed {
    std::string done;
    std::string fault;  // why it was not
  };
  // On the thread of the disk. What was read stays until the reader asks for more, so that a disk that stalls costs no
  // line.
  struct Kept {
    LogReader reader;
    int step = -1;
    LogReader::Read last;
  };
  struct Reading {
    std::int64_t reader = 0;
    std::shared_ptr<Kept> kept = std::make_shared<Kept>();
    int step = -1;                // the last one that was answered
    NodeReport last;              // with this
    std::optional<int> missed{};  // the step whose lines were read too late
    Time used{};
    bool done = false;  // it has all that ended workers have written
  };

  Deed carry_out(const ControlRequest& request);
  Deed send(const ControlRequest& request);
  Deed restart(const std::string& by);
  Deed drain(const ControlRequest& request);
  boost::asio::awaitable<void> leave_soon(std::string by);
  Deed filter(const std::vector<int>& local_ranks);
  boost::asio::awaitable<NodeReport> report(bool closely);
  boost::asio::awaitable<void> add_sights(NodeReport& report);
  boost::asio::awaitable<std::optional<Sights>> look();
  boost::asio::awaitable<std::optional<GpuFacts>> look_at_gpus(const Sights& sights);
  boost::asio::awaitable<void> add_stacks(NodeReport& report, std::optional<int> rank);
  boost::asio::awaitable<NodeReport> read_logs(ControlRequest request);
  void note_read(const ControlRequest& request, int step, std::optional<NodeReport> given, bool ended);
  bool is_followed() const;
  std::vector<LogReader::File> files_of(std::optional<int> rank) const;
  Reading* reading_of(std::int64_t reader);
  NodeReport about_node() const;
  WorkerReport about_worker(LocalRank local_rank, const Workers& running) const;
  GlobalRank rank_of(LocalRank local_rank) const { return job_.round.assignment.base_global_rank + local_rank; }
  bool is_meant(const ControlRequest& request, LocalRank local_rank) const;

  boost::asio::any_io_executor executor_;
  Job job_;
  Feed feed_;
  Time opened_{};
  std::optional<Time> began_;  // this attempt of the workers
  std::string since_;          // the same, as text
  std::map<LocalRank, std::string> ends_;
  std::vector<Reading> readings_;
  boost::asio::steady_timer read_;  // cancelled when a reader has got something
  DiskThread disk_;
  GpuDesk gpus_;
};

}  // namespace launch
