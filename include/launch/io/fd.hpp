// An owned file descriptor, closed once; and the one loop that writes everything. An error of close() is not reported:
// whoever must know that bytes have arrived looks at what write_all() returns. Used wherever there is a descriptor; no
// number is kept elsewhere.
#pragma once

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

// What `fd` has open, opened anew with flags of our own that others who share it do not get; invalid where that cannot
// be done. A terminal does not become ours by it.
Fd open_again(int fd, int flags);

// Bytes that lie in a pipe; 0 where that cannot be told.
std::size_t bytes_waiting(int fd);

// Blocks until all is written; how much was: less than all, with errno set, when the rest cannot be.
std::size_t write_most(int fd, std::string_view bytes);
// The same; true when it was all.
bool write_all(int fd, std::string_view bytes);

// Opens /dev/null as standard input, output and error if they are closed, so that no other file gets their numbers: it
// would be given what is meant for the console.
void hold_standard_streams();

}  // namespace launch
