// A descriptor that other processes share, written to without waiting, as far as that is possible: a pipe or a terminal
// is opened again, so that only our own way in does not block. Used by PatientOutput and StderrTap. It never changes a
// flag that others see. The program must ignore SIGPIPE.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace launch {

class Outlet {
 public:
  // The descriptor stays the caller's.
  explicit Outlet(int given);

  int fd() const { return fd_.get(); }
  // A write never waits. Otherwise it may, unless is_ready() has just been true.
  bool prompt() const { return prompt_; }
  // True if a piece that can be written at once is known to be so without having been tried.
  bool can_be_asked() const;

  // How many bytes need no further care: written, or never to be written, and then errno says why; else errno is 0.
  // nullopt: not now.
  std::optional<std::size_t> put(std::string_view text) const;
  // What is left to be written when all else is, or at this time.
  std::string_view put_until(std::string_view text, Time give_up) const;
  // True if something can be written; false if that is not so at this time.
  bool is_ready(Time give_up) const;

  // What one write should have: whole lines, and on a pipe no more than stays in one piece.
  std::string_view first_piece(std::string_view text) const;
  // The same where much is written: a pipe is made larger if that is allowed, and while it is nearly empty, more of it
  // stays in one piece, also if another such outlet writes to it at the same time.
  std::string_view first_large_piece(std::string_view text);

 private:
  Fd fd_;
  bool socket_ = false;
  bool prompt_ = false;
  std::size_t largest_ = std::size_t{64} * 1024;
  std::size_t pipe_size_ = 0;  // 0: it has not been needed yet
};

}  // namespace launch
