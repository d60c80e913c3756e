// The bytes of all streams that pass through launch on their way to a file and to the console: what is kept in memory,
// for which of the two, and what is given up if neither the file system nor the console takes it.
//
// Pure, and without a lock: io/log_relay has the threads. The bytes of a stream are counted from 0; these are its
// offsets. A slow console reads from the file what memory no longer has; only bytes that the file system does not take
// are ever lost.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/logs/log_extents.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class LogBacklog {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  struct Limits {
    std::size_t unwritten = std::size_t{16} << 20;  // bytes that wait for the file system, all streams together
    std::size_t unshown = std::size_t{8} << 20;     // bytes that are kept for the console only, all streams together
    std::size_t tail = std::size_t{16} << 10;       // last bytes of each stream
    Duration patience = std::chrono::seconds(2);    // with a file system, or a console, that takes nothing at all
  };

  explicit LogBacklog(Limits limits) : limits_(limits) {}

  // Streams are numbered from 0 in the order of these calls.
  void add_stream(bool shown);

  // ---- what comes in
  // From when on bytes of the stream should be received; `wrote` or `shown` may make room earlier. A stream that is not
  // shown never waits for the console.
  Time room_at(int stream) const;
  // Bytes are given up once patience has run out, and from then on without a wait, until something makes room. Bytes
  // that come before room_at() are taken: another stream may have used the room meanwhile.
  void receive(int stream, Bytes bytes, Time now);
  // The last bytes of the stream.
  const std::string& tail(int stream) const { return streams_.at(index(stream)).tail; }

  // ---- the file system's side
  struct Write {
    int stream = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::vector<Bytes> bytes;
  };
  // The oldest bytes that wait, at most about 1 MiB of one stream; nullopt: none wait.
  std::optional<Write> next_write();
  // The result of a write.
  struct Written {
    LogExtents extents;
    std::optional<std::uint64_t> taken_back_from;  // earlier bytes from here on were removed, to leave no torn line
    std::vector<int> deleted;                      // files
  };
  // An empty write: `result` is that of the end of its stream.
  void wrote(const Write& write, const Written& result, Time now);
  // About how many bytes wait for the file system or are being written; and since when it has taken nothing, `never` if
  // none wait.
  std::size_t unwritten() const { return unwritten_; }
  Time waiting_since() const { return unwritten_ == 0 ? never : last_write_; }
  // The file system takes nothing, and bytes are given up.
  bool stalled() const { return stalled_; }
  // Bytes that are in no file, or not yet.
  std::uint64_t lost(int stream) const;
  std::uint64_t end(int stream) const { return streams_.at(index(stream)).end; }
  bool all_written() const { return turns_.empty() && in_hand_ == 0; }

  // ---- the console's side
  struct Show {
    Bytes bytes;  // from `skip` on; null: not in memory
    std::size_t skip = 0;
    LogExtents::Piece piece;  // if `bytes` is null: where the file has it; of size 0: nowhere
    std::uint64_t size = 0;   // how many bytes this is
  };
  // What the console must show next of a shown stream; nullopt: nothing yet.
  std::optional<Show> next_show(int stream) const;
  void shown(int stream, std::uint64_t size, Time now);
  // When the file system or the console last took something; for the code that waits for the end.
  Time last_progress() const { return std::max(last_write_, last_show_); }

 private:
  enum class Fate {
    waits,
    in_hand,
    written,
    lost
  };
  struct Chunk {
    Bytes bytes;
    Fate fate = Fate::waits;
  };
  struct Stream {
    bool shown = false;
    bool has_turn = false;
    std::uint64_t end = 0;                  // after the last byte that came
    std::uint64_t cursor = 0;               // of the console
    std::uint64_t write_from = 0;           // no chunk before it waits
    std::uint64_t in_file = 0;              // bytes
    std::map<std::uint64_t, Chunk> chunks;  // by the offset of their first byte
    LogExtents extents;
    std::string tail;
  };

  static std::size_t index(int stream) { return static_cast<std::size_t>(stream); }
  bool wants(const Stream& stream, std::uint64_t chunk_end) const { return stream.shown && stream.cursor < chunk_end; }
  void keep_tail(Stream& stream, const std::string& bytes) const;
  void settle(Stream& stream, std::uint64_t offset, bool lost);

  Limits limits_;
  std::vector<Stream> streams_;
  std::deque<int> turns_;         // streams with chunks that wait
  std::size_t unwritten_ = 0;     // bytes that wait or are being written, by weight
  std::size_t in_hand_ = 0;       // writes that are under way
  std::size_t kept_written_ = 0;  // for the console, and in the file, too; by weight
  std::size_t kept_lost_ = 0;     // for the console, and nowhere else; by weight
  bool stalled_ = false;
  bool deaf_ = false;  // the console takes nothing, and bytes that are in no file are given up
  Time last_write_{};
  Time last_show_{};
};

}  // namespace launch
