// Where lines for machines go: a file that several nodes of a host may share, standard output, or standard error.
//
// Each line is one write at the end of the file, so lines do not mix. What cannot be written never holds up the job:
// one warning, and the sink takes no more. On standard error the lines stand among launch's messages, in order, and are
// kept as those are (io/log.hpp).
#pragma once

#include "launch/core/error.hpp"
#include "launch/io/fd.hpp"

#include <string>
#include <utility>

namespace launch {

class EventSink {
 public:
  // Takes nothing.
  EventSink() = default;
  // `path` is made where it is missing; "-" is standard output. An error has code usage.
  static Result<EventSink> open(const std::string& path);
  static EventSink standard_error();

  bool takes() const { return fd_.valid() || among_messages_; }
  // The line comes without its newline.
  void write(std::string line);

 private:
  EventSink(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Fd fd_;
  bool among_messages_ = false;
  std::string name_;  // for the warning
};

}  // namespace launch
