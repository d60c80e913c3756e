// The workers' standard error on its way through launch, or their standard output: what a worker writes is shown byte
// for byte and at once, as if it wrote there itself, and the last of it is kept for the report of a failure. If that is
// a terminal, a worker writes to a terminal of the same size, so that progress bars and colours stay; else to a pipe.
//
// One thread reads and shows. A console that takes nothing holds the workers up, as it would without this, and never
// their supervision. It never reads a file, and it adds nothing to what workers say.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/progress_board.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace launch {

class StderrTap {
 public:
  static constexpr std::size_t kept = std::size_t{64} << 10;  // last bytes of each stream

  static constexpr int most_large_pipes = 16;  // the kernel allows a user 64 MiB of pipes

  // Where the stream is shown; `console` stays the caller's. `name`: of the stream, in messages: "standard error".
  // `large_pipes`: how many more workers may have a large pipe, of all taps that share it; null: this one alone may
  // have most_large_pipes.
  struct Shown {
    int console = -1;
    const char* name = "standard error";
    std::shared_ptr<int> large_pipes{};
  };
  // `on_shown` hears, on the thread, whether what was shown last ends a line.
  StderrTap(boost::asio::any_io_executor executor, Shown by, std::function<void(bool ends_line)> on_shown);
  // Leaves the thread behind if it has not ended: the console may have stalled for ever.
  ~StderrTap();
  StderrTap(const StderrTap&) = delete;
  StderrTap& operator=(const StderrTap&) = delete;

  // ---- before begin(): a stream, numbered from 0, and what its worker writes to. Not `shown`: it is only kept.
  // `listener`: who wants to know what comes.
  Result<Fd> add(bool shown, StreamListener listener = {});
  // Starts the thread, with the signal mask of the caller.
  Status begin();

  // The last bytes of a stream whose worker has ended.
  std::string tail(int stream) const;

  struct Outcome {
    bool shown = true;       // the console took all, or has gone
    bool stalled = false;    // it took nothing, as far as it was waited for
    std::uint64_t lost = 0;  // bytes that could not be written, and why
    std::string reason;
  };
  // Nobody writes any more: shows what is left. Gives up when the console has taken nothing for `patience`, after
  // `most` in all, or when hurry() is called meanwhile.
  boost::asio::awaitable<Outcome> drain(Duration patience, Duration most = Duration::max());
  void hurry();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch
