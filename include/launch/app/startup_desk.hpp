// How long the workers of the job take to start. On each node it says when its own were executed, wrote something and
// made a step; node 0, which serves their store, also knows who has connected, and when the last worker of the job has
// joined, it asks the other nodes, tells an event, says so if that took long, and writes the files of --timeline.
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
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
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
  // The workers have ended. If --timeline was not written, it says why. Waits for a look that is under way.
  boost::asio::awaitable<void> end();

 private:
  using Draw = std::function<std::string()>;

  void add_times(NodeReport& report, Time asked) const;
  bool is_wanted() const;
  bool serves_workers() const { return job_.round.assignment.group_rank == NodeRank(0); }
  boost::asio::awaitable<void> watch();
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<std::vector<NodeReport>> gather(int round);
  boost::asio::awaitable<void> tell(StartupTable table);
  boost::asio::awaitable<void> write(std::string path, Draw draw);
  std::string why_not_written() const;

  boost::asio::any_io_executor executor_;
  Job job_;
  Ask ask_;
  std::shared_ptr<ClientArrivals> arrivals_ = std::make_shared<ClientArrivals>();
  DiskThread disk_;
  Time began_{};
  int round_ = 0;  // counts the starts of workers
  int looks_ = 0;  // in this round
  int looking_ = 0;
  boost::asio::steady_timer looked_;  // for who waits until nobody looks
  // Of this round, as it is known by now.
  std::optional<StartupTable> known_;
  bool told_ = false;
};

}  // namespace launch
