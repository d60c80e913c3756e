// The console of launch's own messages, standard error, and all that shares the terminal there. A line of progress is
// rewritten again and again until something else is said. Code that writes whole lines to that terminal (messages here,
// workers' lines in io/line_sink) removes it first.
//
// No line is rewritten where others may write: while workers have the terminal themselves, and while the process that
// the user started is in the background there, progress is reported as a whole line now and then. Nothing here waits,
// except a Turn.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/io/patient_output.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace launch {

class MessageConsole {
 public:
  // Has no effect before open().
  MessageConsole() = default;

  // The descriptor stays the caller's. Called by the process that the user started, before it makes others.
  void open(int fd);

  void say(std::string_view lines);
  // How a wait goes on; `line` has no end of line.
  void show_progress(std::string_view line);
  void end_progress();
  // How often the progress of a wait should be reported.
  Duration progress_interval() const;

  // True when `fd` is the terminal that the messages go to.
  bool shares(int fd) const;
  // Workers have this descriptor from now on; they may leave a line without an end.
  void lend(int fd);
  // The workers have ended.
  void take_back();
  // What a worker wrote was shown there, and ends a line or does not: then what is said begins on one of its own.
  void passed(bool ends_line) { unfinished_ = !ends_line; }

  // While it lives, its owner writes whole lines to the terminal itself, and the line of progress is removed.
  class Turn {
   public:
    explicit Turn(MessageConsole& console);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    // What must be written before the first line.
    std::string_view opening() const { return opening_; }

   private:
    MessageConsole& console_;
    std::string_view opening_;
  };

  bool flush(Duration patience) { return output_.flush(patience); }

 private:
  std::size_t width() const;
  bool in_background() const;
  std::string_view clear_line();
  std::string_view begin_line();
  void say_line(std::string_view line);
  void draw();

  int fd_ = -1;
  pid_t owner_ = 0;
  mutable std::mutex mutex_;
  PatientOutput output_;
  std::string progress_;  // empty: nothing is waited for
  bool shown_ = false;    // progress is the last thing on the terminal
  int turns_ = 0;
  bool uncleared_ = false;  // the owner of a turn must still remove the progress
  bool lent_ = false;
  std::atomic<bool> unfinished_ = false;  // the last line that was shown there is a worker's and has no end
  bool unsure_ = false;                   // a worker may have left a line there that has no end
  Time next_word_{};                      // when progress may be reported again in the background
};

// The console of this process, on standard error.
MessageConsole& message_console();

}  // namespace launch
