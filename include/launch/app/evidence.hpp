// Records what the workers of this node were doing when a failure became known. This happens before any of them is told
// to end, because afterwards the cause of a hang is gone with them. It takes the states of all processes at once, and
// Python stacks if they are wanted.
//
// Its time is bounded: 20 ms for the states, 10 s for all stacks together. It changes nothing in a worker, except that
// it sends the signal that the user names for Python's faulthandler.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/verdict/evidence_notes.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace launch {

class Evidence {
 public:
  struct Worker {
    GlobalRank rank{};
    pid_t pid = 0;
    std::string err_file;  // empty: its standard error goes to the console
  };
  using Send = std::function<bool(pid_t pid, int signal)>;

  // Tools are started and files are read on `disk`, which must outlive this.
  Evidence(boost::asio::any_io_executor executor, DiskThread& disk, std::vector<Worker> workers)
      : timer_(executor), executor_(std::move(executor)), disk_(disk), workers_(std::move(workers)) {}

  void take_states();
  // Uses py-spy if `search_path` has it; otherwise sends `stack_signal` (0: none) to workers that catch it.
  boost::asio::awaitable<void> take_stacks(std::string search_path, int stack_signal, Send send);
  // Makes take_stacks() return at once.
  void hurry();

  const EvidenceNotes& notes() const { return notes_; }

 private:
  struct Dump;
  boost::asio::awaitable<void> until(std::function<bool()> done, Time deadline);
  struct Dumps;
  boost::asio::awaitable<void> ask_py_spy(std::string py_spy, std::string search_path, Time deadline);
  boost::asio::awaitable<void> start_dump(Dumps& dumps, Worker worker, pid_t pid, Time deadline);
  boost::asio::awaitable<void> ask_workers(int signal, Send send, Time deadline);
  std::vector<std::size_t> signal_those_that_listen(int signal, const Send& send, Time deadline) const;
  struct Growth;
  boost::asio::awaitable<bool> grow_quiet(Growth& growth, Time deadline);

  boost::asio::steady_timer timer_;
  boost::asio::any_io_executor executor_;
  DiskThread& disk_;
  std::vector<Worker> workers_;
  EvidenceNotes notes_;
  bool hurried_ = false;
};

}  // namespace launch
