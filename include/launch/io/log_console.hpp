// What one console, standard output or error, shows of the workers' streams: whole lines, each with its prefix, each
// stream in its own order. It runs on a thread of its own, which blocks when the console does. It never blocks the
// threads that read the pipes.
#pragma once

#include "launch/core/logs/line_fold.hpp"
#include "launch/core/logs/line_prefix.hpp"
#include "launch/core/logs/line_router.hpp"
#include "launch/io/line_sink.hpp"
#include "launch/io/log_exchange.hpp"
#include "launch/io/log_file.hpp"
#include "launch/io/shown_ranks.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct ConsoleStyle {
  int fd = 1;
  LinePrefix prefix;
  bool fold = false;
  std::vector<std::string> filters;           // a line that holds one of these also goes to the filtered stream,
  LinePrefix filtered_prefix;                 // with this prefix
  std::shared_ptr<const ShownRanks> ranks{};  // whose lines are shown; null: those of all
};

// "standard output" or "standard error".
const char* name_of_console(int fd);

class LogConsole {
 public:
  // `number`: the exchange's number of this console. `filtered`: the stream for lines that hold a filter.
  LogConsole(ConsoleStyle style, LogExchange& exchange, int number, std::optional<int> filtered);

  // Must be called before run(). The file and the worker's pipe must live as long as this object.
  void add_stream(int stream, int local_rank, const LogFile& file, int pipe);
  // Runs until the input has closed and all of it is shown.
  void run();

  // Lines that could not be written to this console. Any thread may call loss().
  struct Loss {
    int fd = 1;
    std::uint64_t bytes = 0;
    std::string reason;
  };
  Loss loss() const { return {style_.fd, sink_.lost(), sink_.reason()}; }

 private:
  struct Stream {
    int number;
    int local_rank;
    const LogFile* file;
    int pipe;
    LineRouter router;
    Time held_since{};
    bool gave = false;  // the last bytes ended a line
  };

  bool pass();
  bool show_more(Stream& stream, Time when);
  void route(Stream& stream, std::string_view bytes, Time when);
  static Time held_until(const Stream& stream);
  bool goes_on(const Stream& stream) const;
  void flush(Stream& stream, Time when);
  void say(const Stream& stream, std::string_view line, Time when);
  void print_folded(std::string_view line, const std::vector<int>& places);
  template <class Who>
  void print(const Who& who, std::string_view line);
  void write_out();
  void tell_of_loss();

  ConsoleStyle style_;
  LogExchange& exchange_;
  int number_;
  std::optional<int> filtered_;
  std::vector<Stream> streams_;
  LineSink sink_;
  std::optional<LineFold> fold_;
  std::string time_;            // as text, for prefixes that show it
  std::string filtered_lines_;  // they wait for the end of a pass
  std::string buffer_;          // for what is read from files
  bool told_of_loss_ = false;
};

}  // namespace launch
