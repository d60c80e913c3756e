// The output of the workers of one attempt: what each of their streams writes to, and the relay and the tap for those
// that pass through launch. JobFolder uses it. core decides which output is kept where (log_plan, log_backlog). The
// objects that a relay works for must outlive its threads, which end when the last stream has ended.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/logs/line_prefix.hpp"
#include "launch/core/logs/log_plan.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/log_relay.hpp"
#include "launch/io/output_tally.hpp"
#include "launch/io/progress_board.hpp"
#include "launch/io/shown_ranks.hpp"
#include "launch/io/stderr_tap.hpp"
#include "launch/io/worker_start.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class LogStreams {
 public:
  LogStreams(boost::asio::any_io_executor executor, const LogChoice& choice, PrefixFacts facts, std::string folder);

  // What passes through launch is counted there. Must be called before prepare(); null: it is not counted.
  void count_into(std::shared_ptr<OutputTally> tally) { tally_ = std::move(tally); }
  // Whose lines the consoles show. Must be called before prepare(); null: as they were planned.
  void show_only(std::shared_ptr<const ShownRanks> ranks) { ranks_ = std::move(ranks); }
  // Makes the files and pipes of the streams that pass through launch. Must be called before the workers start. It may
  // wait for a disk, so another thread may call it, provided that nobody uses this object meanwhile.
  Status prepare(const std::vector<WorkerLogs>& plans);
  // Starts the threads of these streams.
  Status begin();
  // What a stream of a worker writes to.
  WorkerOutput output(LocalRank local_rank, const StreamPlan& plan);
  // From now on only the workers have the writing ends.
  void all_started();

  // The last output of a stream; nullopt if it does not pass through launch.
  std::optional<std::string> tail(LocalRank local_rank, const StreamPlan& plan) const;
  // When the parts of this file were written; null: a worker writes it itself.
  std::shared_ptr<const FileTimes> times_of(const std::string& file) const;
  // Standard output passes launch on its way to the console, so what is shown of it can be changed.
  bool shows_output() const { return shows_output_; }
  // What their output says of their progress; null: nobody wants to know.
  ProgressBoard* board() const { return board_.get(); }
  // Shows the rest, and says what was lost. To be called when nobody writes any more. A console that takes all of it,
  // but slowly, has `most` in all, and `most_in_files` for what files have as well. False: the file system of the logs
  // does not answer.
  boost::asio::awaitable<bool> show_rest(Duration most, Duration most_in_files);
  // Whoever waits for show_rest() waits no longer.
  void hurry();

 private:
  struct Console {
    int fd;
    const char* name;
    bool coloured;
    bool aligned;
    const std::vector<std::string>& filters;
  };

  Status prepare_streams(const std::vector<WorkerLogs>& plans, StreamPlan WorkerLogs::*which, const Console& console);
  Status relay(const StreamPlan& plan, LocalRank local_rank, const Console& console, std::optional<int>& shown_by);
  Result<int> make_console(const Console& console);
  std::shared_ptr<StreamTally> tally_of(LocalRank local_rank, int console) const;
  struct Taps;
  Status tap(Taps& taps, LocalRank local_rank, bool shown);
  Taps& taps_of(StreamPlan::Sink sink) { return sink == StreamPlan::Sink::tap_out ? out_ : err_; }
  const Taps& taps_of(StreamPlan::Sink sink) const { return sink == StreamPlan::Sink::tap_out ? out_ : err_; }
  Status make_board(int nproc);
  StreamEar ear(LocalRank local_rank) { return board_ ? board_->ear(local_rank) : StreamEar(); }
  void tell_what_stalled(const LogRelay::Outcome& end) const;
  void tell_losses(const std::vector<LogRelay::Loss>& losses) const;

  // A stream that passes through launch.
  struct Relayed {
    int number = 0;  // the relay's number for it
    GlobalRank rank{};
    const char* name = "";
    Fd writer;  // until the worker has it
    std::shared_ptr<const FileTimes> times;
  };

  boost::asio::any_io_executor executor_;
  LogChoice choice_;
  PrefixFacts facts_;
  std::string folder_;
  std::shared_ptr<OutputTally> tally_;
  std::shared_ptr<const ShownRanks> ranks_;
  std::optional<LogRelay> relay_;           // if a stream passes through launch; until all have ended
  std::map<std::string, Relayed> relayed_;  // by file

  // How many more streams may have a large pipe, of both consoles together.
  std::shared_ptr<int> large_pipes_ = std::make_shared<int>(StderrTap::most_large_pipes);

  // A stream that is shown as it comes.
  struct Tapped {
    int number = 0;  // the tap's
    Fd writer;       // until the worker has it
  };
  // Those of all workers that one console shows.
  struct Taps {
    int console;
    const char* name;
    std::optional<StderrTap> tap;  // where a stream passes it, until the end of all
    std::map<LocalRank, Tapped> streams{};
  };
  Taps out_, err_;
  bool shows_output_ = false;
  bool hurried_ = false;
  std::unique_ptr<ProgressBoard> board_;
};

}  // namespace launch
