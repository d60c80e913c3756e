// An owned file descriptor, closed once; and the one loop that writes everything. An error of close() is not reported:
// code that must know if bytes have arrived looks at what write_all() returns. Used wherever there is a descriptor; no
// number is kept elsewhere.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace launch {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// Opens again what `fd` has open, with flags of our own that others who share it do not get. Invalid if that is not
// possible. A terminal does not become our controlling terminal by it.
Fd open_again(int fd, int flags);

// How many bytes are in a pipe; 0 if it is not known.
std::size_t bytes_waiting(int fd);

// Makes a pipe hold 1 MiB if that is allowed. How much it holds; 0: it is not a pipe.
std::size_t enlarge_pipe(int fd);
// True if a pipe that holds so much takes half of that in one piece: nobody fills it between this look and a write.
bool is_roomy(int fd, std::size_t pipe_size);

// Blocks until all is written. Returns how much was: less than all, with errno set, if the rest cannot be written.
std::size_t write_most(int fd, std::string_view bytes);
// The same; true if all was written.
bool write_all(int fd, std::string_view bytes);

// Waits so long, or until nobody can read any more what is written to the pipe or socket; false then. For programs
// without a loop.
bool is_read_for(int fd, Duration time);

// Opens /dev/null as standard input, output and error if they are closed. Otherwise another file could get their
// numbers, and with them what is meant for the console.
void hold_standard_streams();

}  // namespace launch
