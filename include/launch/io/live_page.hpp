// A page of text on the terminal that is drawn again and again, beside what was on the screen before, which comes back
// at the end: also if the program is told to stop. For programs without a loop. Keys are read one by one; it ends at q
// and at the signals that end a program.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace launch {

class LivePage {
 public:
  // An error if standard input and output are no terminal.
  static Result<std::unique_ptr<LivePage>> open();
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  Size size() const;
  // False: it cannot be shown.
  bool show(const std::string& text);
  enum class Event {
    time,
    resized,
    readable,  // the descriptor
    ended
  };
  // What comes first. `fd`: what is waited for as well; -1: nothing.
  Event wait(Duration time, int fd = -1);
  bool ended() const { return ended_; }

 private:
  struct Terminal;
  explicit LivePage(std::unique_ptr<Terminal> terminal);

  std::unique_ptr<Terminal> terminal_;
  bool ended_ = false;
};

}  // namespace launch
