// The workers' output on its way through launch: each stream comes through a pipe, and goes to its file and, if the
// user wants to see it, to the console.
//
// There are three kinds of threads, so that none waits for what another waits for: one reads the pipes, one writes the
// files, and one for each console shows lines. A slow console holds up nobody, and reads from the files what it has
// missed. A file system that takes nothing holds the workers up for two seconds, once; after that bytes are lost,
// counted and reported.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/logs/log_backlog.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/log_console.hpp"
#include "launch/io/log_file.hpp"
#include "launch/io/progress_board.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

struct FileRules {
  std::uint64_t max_size = 0;  // bytes; 0: one file grows for ever
  int max_files = 0;
};

class LogRelay {
 public:
  LogRelay(boost::asio::any_io_executor executor, FileRules rules, LogBacklog::Limits limits = {});
  // Leaves the threads behind if they have not ended: a console or a file system may have stalled for ever.
  ~LogRelay();
  LogRelay(const LogRelay&) = delete;
  LogRelay& operator=(const LogRelay&) = delete;

  // ---- before `begin`
  // Adds a console and returns its number, from 0. `filtered_file`: for lines that hold a filter, if there are filters.
  Result<int> add_console(ConsoleStyle style, const std::string& filtered_file);
  // Adds a worker's stream: its file, which is made here, and the console that shows it. Returns what the worker writes
  // to. `listener`: who wants to know what comes.
  struct Added {
    int stream = 0;
    Fd writer;
    std::shared_ptr<const FileTimes> times{};  // of its file
  };
  Result<Added> add_stream(int local_rank, const std::string& file, std::optional<int> console,
                           StreamListener listener = {});

  // Starts the threads, with the signal mask of the caller.
  Status begin();
  // The last bytes of a stream whose writer has ended.
  std::string tail(int stream) const;

  // drain(): nobody writes any more, so what is left is written and shown. It gives up when nothing has moved for
  // `patience`, after `most` in all, or when hurry() is called meanwhile; but what files are to have is written then,
  // as long as it moves.
  struct Loss {
    int stream = 0;
    std::uint64_t bytes = 0;  // that got into no file
    std::string reason;
  };
  struct Outcome {
    bool shown = true;     // the consoles took all
    bool stalled = false;  // nothing has moved, as far as it was waited for
    bool written = true;   // the file system answered
    std::vector<Loss> losses;
    std::vector<LogConsole::Loss> unshown;  // to consoles that could not be written
  };
  boost::asio::awaitable<Outcome> drain(Duration patience, Duration most = Duration::max());
  void hurry();

 private:
  void start_threads();

  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch
