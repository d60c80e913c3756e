// The metrics of this node: it counts the job's events, serves what is counted at --metrics, and writes it to
// --metrics-file. JobRecord owns it for the life of the process. What stands in the way of metrics is a warning: the
// job never fails for them, and waits neither for a client nor for a disk. Without these options it does nothing.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/metrics/metrics.hpp"
#include "launch/core/metrics/metrics_text.hpp"
#include "launch/core/metrics/store_tally.hpp"
#include "launch/core/progress/progress_watch.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/metrics_server.hpp"
#include "launch/io/output_tally.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace launch {

class MetricsDesk {
 public:
  using Steps = std::function<std::vector<RankProgress>()>;
  // `config` must outlive it. `steps` gives those of the workers that are known.
  MetricsDesk(boost::asio::any_io_executor executor, const Config& config, Steps steps);

  bool wanted() const { return config_.metrics.wanted(); }
  void open();
  void hear(const JobEvent& event);
  // Where the workers' output and the store's requests are counted; null: nowhere.
  const std::shared_ptr<OutputTally>& outputs() const { return outputs_; }
  const std::shared_ptr<StoreTally>& store() const { return store_; }
  // The job has ended: the file gets the last numbers, unless its disk does not answer soon.
  boost::asio::awaitable<void> close();

 private:
  void serve(const Endpoint& at);
  boost::asio::awaitable<void> write_regularly();
  std::string text(MetricsForm form) const;
  Readings read() const;
  void add_outputs(Readings& readings) const;
  void add_steps(Readings& readings) const;
  void told_of(const Status& written);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  Steps steps_;
  Metrics metrics_;
  std::shared_ptr<OutputTally> outputs_;
  std::shared_ptr<StoreTally> store_;
  Time began_{};
  double began_at_ = 0;                  // seconds since 1970
  std::optional<MetricsServer> server_;  // if it is wanted
  DiskThread disk_;
  boost::asio::steady_timer next_;  // when to write again
  bool closing_ = false;
  bool warned_ = false;
};

}  // namespace launch
