// Lines on their way to a console, in batches of whole lines that no other process can tear: a pipe takes up to PIPE_BUF
// bytes at once, a terminal or a file any number. Blocks as long as the console does; when nobody reads any more, lines
// go nowhere.
#pragma once

#include <cstddef>
#include <string>

namespace launch {

class LineSink {
 public:
  explicit LineSink(int fd);

  // `fill` appends one line, its end included, to the text it is given.
  template <class Fill>
  void take(const Fill& fill) {
    const std::size_t before = batch_.size();
    fill(batch_);
    if (batch_.size() > most_) write(before);
  }
  void write() { write(batch_.size()); }

 private:
  // The first bytes; where these are none, all.
  void write(std::size_t size);

  int fd_;
  std::size_t most_;
  std::string batch_;
  bool closed_ = false;
};

}  // namespace launch
