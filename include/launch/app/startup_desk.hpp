// How long the workers of the job take to start. On each node it says when its own were executed, wrote something and
// made a step; on the node that serves their store it also knows who has connected, and when the last worker of the job
// has come, it asks the other nodes, tells an event, says so if that took long, and writes the files of --timeline.
// ControlDesk owns it for the life of the process. It wakes nobody before. What is told decides core/startup.
#pragma once

#include "launch/app/job_record.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/startup/client_arrivals.hpp"
#include "launch/core/startup/startup_table.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class StartupDesk {
 public:
  // What it looks at; all of it outlives the desk.
  struct Job {
    const Config& config;
    JobRecord& record;
    const Round& round;
  };
  // What all nodes answer about the start.
  using Ask = std::function<boost::asio::awaitable<std::vector<NodeReport>>()>;
  StartupDesk(boost::asio::any_io_executor executor, Job job, Ask ask);

  // Where the stores of this node note who connects.
  const std::shared_ptr<ClientArrivals>& arrivals() const { return arrivals_; }
  // Workers are about to be started.
  void begin();
  // Adds what this node knows; ages are those at the moment `asked`.
  boost::asio::awaitable<void> add_startup(NodeReport& report, Time asked);

 private:
  using Files = std::vector<std::pair<std::string, std::string>>;  // path, text

  void add_times(NodeReport& report, Time asked) const;
  bool is_wanted() const;
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<void> tell(StartupTable table);
  boost::asio::awaitable<void> write(Files files);

  boost::asio::any_io_executor executor_;
  Job job_;
  Ask ask_;
  std::shared_ptr<ClientArrivals> arrivals_ = std::make_shared<ClientArrivals>();
  DiskThread disk_;
  Time began_{};
  int round_ = 0;  // counts the starts of workers
  int looks_ = 0;  // in this round
};

}  // namespace launch
