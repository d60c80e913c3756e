// Where lines for machines go: a file that several nodes of a host may share, standard output, or standard error.
//
// Each line is one write at the end of the file, so lines do not mix. A thread writes it, because a disk may stall. An
// error never holds up the job: the sink warns once and takes no more. While a disk stalls, up to ten thousand lines
// are kept; further ones are lost, counted and reported. On standard error the lines stand among launch's messages, in
// order, and are kept like those (io/log.hpp).
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace launch {

class EventSink {
 public:
  // Takes nothing.
  EventSink() = default;
  // The file `path` is made if it is missing; "-" is standard output. An error has code usage. If the disk has not
  // answered by `give_up`, lines wait for it from then on. `disk` must outlive the sink.
  static boost::asio::awaitable<Result<EventSink>> open(std::string path, DiskThread& disk, Time give_up);
  static EventSink standard_error();

  bool takes() const;
  // The line comes without its newline.
  void write(std::string line);
  // Waits until all that it took is written, or until `give_up`; then it takes no more. Says what was lost.
  boost::asio::awaitable<void> flush(Time give_up);

 private:
  struct Output;

  std::shared_ptr<Output> output_;  // the file, with what the thread knows of it
  DiskThread* disk_ = nullptr;
  bool among_messages_ = false;
};

}  // namespace launch
