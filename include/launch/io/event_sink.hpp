// Where lines for machines go: a file that several nodes of a host may share, standard output, or standard error.
//
// Each line is one write at the end of the file, so lines do not mix; a thread does it, since a disk may stall. What
// cannot be written never holds up the job: one warning, and the sink takes no more. What a disk that stalls does not
// take is kept, up to ten thousand lines; the others are counted and told. On standard error the lines stand among
// launch's messages, in order, and are kept as those are (io/log.hpp).
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
  // `path` is made where it is missing; "-" is standard output. An error has code usage. If the disk has not answered
  // at `give_up`, lines wait for it from then on. `disk` must outlive the sink.
  static boost::asio::awaitable<Result<EventSink>> open(std::string path, DiskThread& disk, Time give_up);
  static EventSink standard_error();

  bool takes() const;
  // The line comes without its newline.
  void write(std::string line);
  // Until all that it took is written, or this time, when it takes no more. Says what was lost.
  boost::asio::awaitable<void> flush(Time give_up);

 private:
  struct Output;

  std::shared_ptr<Output> output_;  // where it goes, with what the thread knows of it
  DiskThread* disk_ = nullptr;
  bool among_messages_ = false;
};

}  // namespace launch
