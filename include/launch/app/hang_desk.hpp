// Watches whether the workers get on (--hang-timeout): it looks at those of this node now and then, and on the node of
// rank 0 it asks the other nodes when the whole job may hang, takes the stacks of all workers, warns, and tells the
// agent if the workers must be restarted or the job must end. ControlDesk owns it for the life of the process. Without
// the option it does nothing, and wakes nobody. What a hang is decides core (hang_watch, hang_judge).
#pragma once

#include "launch/app/job_record.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/node/node.hpp"
#include "launch/core/progress/hang_judge.hpp"
#include "launch/core/progress/hang_watch.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace launch {

class HangDesk {
 public:
  // What it looks at; all of it outlives the desk.
  struct Job {
    const Config& config;
    const Node& node;
    const WorkerGroup& workers;
    JobRecord& record;
    const Round& round;
  };
  struct Deeds {
    // What all nodes answer.
    std::function<boost::asio::awaitable<std::vector<NodeReport>>(ControlRequest::Verb)> ask;
    std::function<void(NodeEvent)> feed;
  };
  HangDesk(boost::asio::any_io_executor executor, Job job, Deeds deeds);

  // Workers are about to be started.
  void begin();
  // Says how long this node has been quiet, if it can.
  void add_quiet(NodeReport& report) const;
  // Around a look at the workers that they may notice.
  void disturb();
  void disturbed();

 private:
  using Task = boost::asio::awaitable<void>;
  using Nodes = std::vector<NodeReport>;

  bool goes_on() const;
  bool decides() const;
  Task watch();
  Task look();
  Task look_at_files();
  void look_at_output();
  WorkTallies with_sizes(WorkTallies tallies) const;
  // How long the whole job has been quiet, if that is a hang that was not told yet.
  boost::asio::awaitable<HangJudge::Opinion> ask_for_quiet();
  Task look_at_the_job();
  void warn(Duration quiet, const Nodes& nodes);
  void act(Duration quiet);
  void warn_of_unknown(const std::vector<int>& nodes);

  boost::asio::any_io_executor executor_;
  Job job_;
  Deeds deeds_;
  DiskThread disk_;   // looks at processes
  DiskThread files_;  // looks at the files of their output
  boost::asio::steady_timer timer_;
  std::map<pid_t, std::uint64_t> sizes_;  // of them together, by worker
  Duration interval_;
  HangWatch watch_;
  HangJudge judge_;
  std::shared_ptr<std::atomic<bool>> under_way_ = std::make_shared<std::atomic<bool>>(false);  // a look at the workers
  std::shared_ptr<std::atomic<bool>> sizing_ = std::make_shared<std::atomic<bool>>(false);     // at their files
  bool begun_ = false;
  bool told_of_unknown_ = false;
  int round_ = 0;         // counts the starts of workers
  int disturbances_ = 0;  // so far
  int disturbers_ = 0;    // at present
  Time disturbed_{};      // since then
};

}  // namespace launch
