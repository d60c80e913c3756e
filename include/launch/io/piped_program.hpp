// A program with its standard streams as pipes: bytes go in and come out. Used by launch --hosts: on the head it is
// ssh or another way to a host, and what it writes to standard error is kept, the last 4 KiB, to say why it ended; on
// the host it is the launch of that node. The caller shares the object with its coroutines, which end when the program
// has. It ends with this process, because the kernel kills it then. This process must ignore SIGPIPE. A script whose
// first line names no program is run by /bin/sh.
//
// Others may hold the pipes for longer than the program, as a master connection of ssh does: what they write later than
// half a second after its end is not read.
#pragma once

#include "launch/core/job/job.hpp"
#include "launch/io/child.hpp"
#include "launch/io/spawn.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct ProgramLine {
  std::string executable;  // a path
  std::vector<std::string> argv;
  std::vector<std::string> env;    // NAME=VALUE
  std::vector<int> reset_signals;  // to be set to their default
  rlimit open_files{};             // RLIMIT_NOFILE to be restored; left alone when rlim_max is 0
};

struct ProgramHandlers {
  std::function<void(std::string_view bytes)> on_bytes;
  // What is written to standard error; null: it is kept for on_end.
  std::function<void(std::string_view bytes)> on_errors;
  // Once, last of all.
  std::function<void(ExitStatus status, const std::string& errors)> on_end;
  // So much of what was sent is in its pipe, or was read; null: nobody wants to know.
  std::function<void(std::size_t bytes)> on_taken{};
};

class PipedProgram : public std::enable_shared_from_this<PipedProgram> {
 public:
  // An error if the program cannot be executed; then no handler is called.
  static Result<std::shared_ptr<PipedProgram>> start(const boost::asio::any_io_executor& executor,
                                                     const ProgramLine& line, ProgramHandlers handlers);
  PipedProgram(const boost::asio::any_io_executor& executor, Spawned spawned, ProgramHandlers handlers);

  void send(std::string bytes);
  // All of a file, before what is sent after it. If it cannot be read, the program gets the end of its input.
  void send_file(const std::string& path);
  // Nothing more will be sent: the other side sees the end when it has read all.
  void close();
  // While held, nothing is read, so that the other side has to wait. What is left when it has ended is read all the
  // same.
  void hold(bool held);
  // `origin`: who has sent it, as the program sees it (io/guard).
  void signal(int number, pid_t origin = 0);
  // With all of its session that are in its process group, as the programs of a shell are.
  void kill();

 private:
  using Stream = boost::asio::posix::stream_descriptor;
  using Task = boost::asio::awaitable<void>;

  void begin(Fd in, Fd out, Fd err);
  // They keep this object alive, from their making on.
  Task write(std::shared_ptr<PipedProgram> self);
  bool read_piece();
  Task read(std::shared_ptr<PipedProgram> self, Stream& stream, bool errors);
  std::optional<std::size_t> read_some(Stream& stream, bool errors, std::size_t most);
  void take(std::string_view bytes, bool errors);
  void end_reading();
  void look_for_end();

  boost::asio::any_io_executor executor_;
  ProgramHandlers handlers_;
  Child child_;
  Stream in_, out_, err_;
  boost::asio::steady_timer gate_;  // for read(), while held; then until what is left is cut off
  std::string unsent_;
  Fd file_;  // is sent before unsent_
  std::string piece_;
  std::string errors_;
  std::optional<ExitStatus> status_;
  bool writing_ = false;
  bool closing_ = false;
  bool held_ = false;
  bool cut_off_ = false;  // nothing more is waited for
  int open_ = 2;          // of out_ and err_
};

}  // namespace launch
