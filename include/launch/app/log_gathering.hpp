// The files of the workers' output that the hosts of `launch --hosts --gather-logs=DIR` send home: writes each into
// DIR/HOST, piece by piece, and says at the end of which hosts they are not all there, and why. Used by app/head_run.
// Nothing of it changes how the job ends. A host of which a piece could not be written, or not within two minutes, gets
// no more written. Pieces are written on a thread: whoever brings them asks `held()` and stops while it is too much,
// and hears by `on_less`.
#pragma once

#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/head_plan.hpp"
#include "launch/core/hosts/host_messages.hpp"
#include "launch/io/disk_thread.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace launch {

class LogGathering {
 public:
  // Without a folder it does nothing. It must outlive all that runs on the executor.
  LogGathering(boost::asio::any_io_executor executor, std::string folder, const HeadPlan& plan,
               std::function<void()> on_less);

  void store(int node, NodeFile file);
  // No more will come.
  void end(int node);
  // Bytes that have come and are not written yet: of all hosts, of one.
  std::size_t held() const { return held_; }
  bool is_written(int node) const { return at(node).held == 0; }
  // Nothing that has come so far could not be written.
  bool is_complete(int node) const { return at(node).fault.empty(); }
  // Until all is written, or nothing was for so long: of what is missing then it is said.
  boost::asio::awaitable<void> drained(Duration patience);
  // Once the job has ended.
  void tell() const;

 private:
  struct Host {
    std::string name;
    int files = 0;
    bool ended = false;
    std::string fault{};
    std::size_t held = 0;
  };

  Host& at(int node) { return hosts_[static_cast<std::size_t>(node)]; }
  const Host& at(int node) const { return hosts_[static_cast<std::size_t>(node)]; }
  boost::asio::awaitable<void> write(int node, NodeFile file);

  // At most one for each host.
  std::vector<HostProblem> problems() const;

  boost::asio::any_io_executor executor_;
  std::string folder_;
  std::function<void()> on_less_;
  std::vector<Host> hosts_;
  DiskThread disk_;
  boost::asio::steady_timer empty_;
  std::size_t held_ = 0;
};

}  // namespace launch
