// A LogBacklog beside a model that knows where each byte is: in memory, in a file, or nowhere.
#include "launch/core/base/random.hpp"
#include "launch/core/logs/log_backlog.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <gtest/gtest.h>

namespace launch::log_backlog_model_test {

using namespace std::chrono_literals;

constexpr LogBacklog::Limits limits{.unwritten = 3'000, .unshown = 2'000, .tail = 30, .patience = 2s};
constexpr std::size_t longest_chunk = 200;
constexpr std::size_t overhead = 128;  // of a chunk

enum class Kept {
  unwritten,
  written,
  lost,
};

struct Chunk {
  std::uint64_t offset;
  std::size_t size;
  std::weak_ptr<const std::string> memory;
  Kept kept;
};

struct Place {
  int file = -1;  // none
  std::uint64_t position = 0;
};

struct Stream {
  bool shown;
  std::string said;
  std::vector<Place> places;  // of each byte; stays when the file is deleted
  std::uint64_t placed = 0;   // of these, those with a file
  std::vector<Chunk> chunks;
  std::uint64_t cursor = 0;
  std::uint64_t written_to = 0;
  int file = 0;
  int oldest_file = 0;
  std::map<int, std::string> files;
};

// Where the console found its bytes.
struct Seen {
  std::uint64_t memory = 0;
  std::uint64_t file = 0;
  std::uint64_t nowhere = 0;
};

// Reader, writer and consoles, one step of one of them at a time.
class Play {
 public:
  explicit Play(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      streams_.push_back({.shown = i < 2, .said = {}, .places = {}, .chunks = {}, .files = {}});
      streams_.back().places.reserve(100'000);
      backlog_.add_stream(i < 2);
    }
    // How often each of them has a turn; a stall ends some day.
    writer_ = chance({10, 40, 90});
    console_ = chance({5, 30, 90});
    failures_ = chance({0, 20, 70});
    rotations_ = chance({0, 10, 40});
  }

  Seen run() {
    for (int i = 0; i < 1500 && !testing::Test::HasFailure(); ++i) {
      if (i % 300 == 0) console_stalls_ = random_.next() % 3 == 0;
      if (i % 300 == 150) writer_stalls_ = random_.next() % 3 == 0;
      now_ += Duration(random_.next() % 20'000'000);
      read();
      if (!writer_stalls_ && roll(writer_)) write();
      for (int stream = 0; stream < 2; ++stream)
        if (!console_stalls_ && roll(console_)) show(stream);
      check_memory();
      if (i % 50 == 0) check_losses();
    }
    finish();
    return seen_;
  }

 private:
  int chance(std::initializer_list<int> choices) { return choices.begin()[random_.next() % choices.size()]; }
  bool roll(int percent) { return random_.next() % 100 < static_cast<std::uint64_t>(percent); }
  Stream& at(int stream) { return streams_.at(static_cast<std::size_t>(stream)); }

  void read() {
    const int number = static_cast<int>(random_.next() % streams_.size());
    if (backlog_.room_at(number) > now_) {
      if (!roll(10)) return;
      now_ = backlog_.room_at(number);  // nothing happens meanwhile
    }
    Stream& stream = at(number);
    std::string text(1 + random_.next() % longest_chunk, ' ');
    std::uint64_t letters = 0;
    for (char& c : text) {
      letters = letters < 26 ? random_.next() : letters / 26;
      c = static_cast<char>('a' + letters % 26);
    }
    stream.said += text;
    auto bytes = std::make_shared<const std::string>(std::move(text));
    stream.chunks.push_back({stream.places.size(), bytes->size(), bytes, Kept::unwritten});
    stream.places.resize(stream.said.size());
    backlog_.receive(number, std::move(bytes), now_);
    if (backlog_.stalled()) stream.chunks.back().kept = Kept::lost;
    EXPECT_EQ(backlog_.end(number), stream.said.size());
    const std::string& tail = backlog_.tail(number);
    EXPECT_TRUE(stream.said.ends_with(tail));
    EXPECT_GE(tail.size(), std::min(stream.said.size(), limits.tail));
  }

  // Begins a write, or ends the one that is under way.
  void write() {
    if (!in_hand_) {
      in_hand_ = backlog_.next_write();
      if (in_hand_) check_write(*in_hand_);
      return;
    }
    const LogBacklog::Write write = *std::exchange(in_hand_, std::nullopt);
    Stream& stream = at(write.stream);
    LogBacklog::Written result;
    if (roll(failures_ / 4)) take_back(stream, write.offset, result);
    std::uint64_t offset = write.offset;
    const std::uint64_t end = write.offset + write.size;
    while (offset < end) {
      if (roll(rotations_)) rotate(stream, result);
      if (roll(failures_)) offset += random_.next() % (end - offset + 1);  // lost
      const std::uint64_t size = random_.next() % (end - offset + 1);
      put(stream, offset, size, result);
      offset += size;
      if (roll(failures_)) break;
    }
    const std::uint64_t in_file = result.extents.bytes();
    for (Chunk& chunk : stream.chunks)
      if (chunk.offset >= write.offset && chunk.offset < end)
        chunk.kept = in_file == write.size ? Kept::written : Kept::lost;
    backlog_.wrote(write, result, now_);
    EXPECT_FALSE(backlog_.stalled());
  }

  void check_write(const LogBacklog::Write& write) {
    Stream& stream = at(write.stream);
    EXPECT_GE(write.offset, stream.written_to);
    stream.written_to = write.offset + write.size;
    std::string text;
    for (const auto& bytes : write.bytes) text += *bytes;
    EXPECT_EQ(text, stream.said.substr(write.offset, write.size));
    EXPECT_GT(write.size, 0U);
    // What is left out was given up.
    EXPECT_TRUE(std::none_of(stream.chunks.begin(), stream.chunks.end(), [&](const Chunk& chunk) {
      return chunk.offset < write.offset && chunk.kept == Kept::unwritten;
    }));
  }

  void put(Stream& stream, std::uint64_t offset, std::uint64_t size, LogBacklog::Written& result) {
    std::string& file = stream.files[stream.file];
    if (roll(20)) file += '#';  // a note
    result.extents.wrote(offset, size, stream.file, file.size());
    for (std::uint64_t i = 0; i < size; ++i) stream.places[offset + i] = {stream.file, file.size() + i};
    stream.placed += size;
    file += stream.said.substr(offset, size);
  }

  // The last bytes of the present file, as far as they lie in a row.
  void take_back(Stream& stream, std::uint64_t end, LogBacklog::Written& result) {
    std::string& file = stream.files[stream.file];
    std::uint64_t from = end;
    while (from > 0 && end - from < 50 && !file.empty() && stream.places[from - 1].file == stream.file &&
           stream.places[from - 1].position + 1 == file.size()) {
      stream.places[--from] = {};
      --stream.placed;
      file.pop_back();
    }
    result.taken_back_from = from;
  }

  void rotate(Stream& stream, LogBacklog::Written& result) {
    ++stream.file;
    if (stream.file - stream.oldest_file < 3) return;
    stream.files.erase(stream.oldest_file);
    result.deleted.push_back(stream.oldest_file++);
  }

  void show(int number) {
    Stream& stream = at(number);
    const auto show = backlog_.next_show(number);
    ASSERT_EQ(show.has_value(), stream.cursor < stream.said.size());
    if (!show) return;
    ASSERT_GT(show->size, 0U);
    ASSERT_LE(stream.cursor + show->size, stream.said.size());
    const std::string_view expected = std::string_view(stream.said).substr(stream.cursor, show->size);
    std::uint64_t size = show->size;
    if (show->bytes) {
      seen_.memory += size;
      ASSERT_EQ(show->bytes->substr(show->skip), expected);
    } else if (show->piece.size > 0) {
      ASSERT_EQ(stream.files.at(show->piece.file).substr(show->piece.position, show->piece.size), expected);
      size = 1 + random_.next() % size;  // as much as one reads at once
      seen_.file += size;
    } else {
      seen_.nowhere += size;
      ASSERT_TRUE(is_nowhere(stream, stream.cursor, size));
    }
    stream.cursor += size;
    backlog_.shown(number, size, now_);
  }

  static bool is_nowhere(const Stream& stream, std::uint64_t offset, std::uint64_t size) {
    for (std::uint64_t i = offset; i < offset + size; ++i) {
      const int file = stream.places[i].file;
      if (file >= stream.oldest_file && stream.files.contains(file)) return false;
    }
    return std::none_of(stream.chunks.begin(), stream.chunks.end(), [offset, size](const Chunk& chunk) {
      return chunk.offset < offset + size && offset < chunk.offset + chunk.size && !chunk.memory.expired();
    });
  }

  void check_memory() {
    std::map<Kept, std::size_t> used{{Kept::unwritten, 0}, {Kept::written, 0}, {Kept::lost, 0}};
    for (Stream& stream : streams_)
      std::erase_if(stream.chunks, [&used](const Chunk& chunk) {
        if (chunk.memory.expired()) return true;
        used[chunk.kept] += chunk.size + overhead;
        return false;
      });
    const std::size_t one = longest_chunk + overhead;
    ASSERT_LE(used[Kept::unwritten], limits.unwritten + one);
    ASSERT_LE(used[Kept::written], limits.unshown + one);
    ASSERT_LE(used[Kept::lost], limits.unshown + limits.unwritten + 2 * one);
  }

  void check_losses() {
    for (int number = 0; number < 3; ++number)
      ASSERT_EQ(backlog_.lost(number), at(number).places.size() - at(number).placed);
  }

  void finish() {
    while (in_hand_ || !backlog_.all_written()) write();
    check_losses();
    for (const Stream& stream : streams_)
      ASSERT_EQ(static_cast<std::ptrdiff_t>(stream.placed),
                std::count_if(stream.places.begin(), stream.places.end(),
                              [](const Place& place) { return place.file >= 0; }));
    for (int number = 0; number < 2; ++number)
      while (!testing::Test::HasFatalFailure() && at(number).cursor < at(number).said.size()) show(number);
    EXPECT_EQ(backlog_.next_show(0), std::nullopt);
    for (const Stream& stream : streams_)
      for (const Chunk& chunk : stream.chunks) EXPECT_TRUE(chunk.memory.expired());
    // Nothing is counted that is no longer there: all of the room can be used again.
    std::size_t bytes = 0;
    for (; backlog_.room_at(0) <= now_ && bytes < 100; ++bytes)
      backlog_.receive(0, std::make_shared<const std::string>("x"), now_);
    EXPECT_EQ(bytes, (limits.unwritten + overhead) / (1 + overhead));
  }

  Random random_;
  LogBacklog backlog_{limits};
  std::vector<Stream> streams_;
  std::optional<LogBacklog::Write> in_hand_;
  Time now_ = Time{} + 1h;
  int writer_, console_, failures_, rotations_;  // in percent
  Seen seen_;
  bool writer_stalls_ = false;
  bool console_stalls_ = false;
};

TEST(LogBacklogModel, TheConsoleGetsEachByteOnceAndLossesAreCounted) {
  Seen all;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Seen seen = Play(seed).run();
    ASSERT_FALSE(HasFailure());
    all.memory += seen.memory;
    all.file += seen.file;
    all.nowhere += seen.nowhere;
  }
  EXPECT_GT(all.memory, 1'000'000U);
  EXPECT_GT(all.file, 300'000U);
  EXPECT_GT(all.nowhere, 1'000'000U);
}

}  // namespace launch::log_backlog_model_test
