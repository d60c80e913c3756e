// A LogBacklog with small limits in the hands of tests.
#pragma once

#include "launch/core/logs/log_backlog.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace launch {

// A backlog whose stream 0 is shown and whose stream 1 is not, and the bytes of both.
class LogBacklogs : public testing::Test {
 protected:
  LogBacklogs() {
    backlog_.add_stream(true);
    backlog_.add_stream(false);
  }

  void receive(std::string text, int stream = 0) {
    came_.at(static_cast<std::size_t>(stream)) += text;
    backlog_.receive(stream, std::make_shared<const std::string>(std::move(text)), now_);
  }
  // As many bytes as there is room for at this moment.
  std::size_t fill(int stream = 0, std::size_t chunk = 100) {
    std::size_t bytes = 0;
    for (; backlog_.room_at(stream) <= now_ && bytes < 1'000'000; bytes += chunk)
      receive(std::string(chunk, 'f'), stream);
    return bytes;
  }
  LogBacklog::Write take() {
    auto write = backlog_.next_write();
    EXPECT_TRUE(write);
    if (!write) return {};
    std::string text;
    for (const auto& bytes : write->bytes) text += *bytes;
    const std::string& came = came_.at(static_cast<std::size_t>(write->stream));
    EXPECT_EQ(text, came.substr(write->offset, write->size));
    return *write;
  }
  // So many bytes of it got into the file, at the place that they have in the stream.
  void write_part(const LogBacklog::Write& write, std::uint64_t size, int file = 0) {
    LogBacklog::Written result;
    result.extents.wrote(write.offset, size, file, write.offset);
    backlog_.wrote(write, result, now_);
  }
  void succeed(const LogBacklog::Write& write, int file = 0) { write_part(write, write.size, file); }
  void fail(const LogBacklog::Write& write) { backlog_.wrote(write, {}, now_); }
  void write_all() {
    while (auto write = backlog_.next_write()) succeed(*write);
  }

  static std::string in_file(std::uint64_t position, std::uint64_t size, int file = 0) {
    return std::to_string(file) + "@" + std::to_string(position) + "+" + std::to_string(size);
  }
  // What the console is told at this place: the text in memory, "0@5+3" for three bytes of file 0 from 5 on, or
  // "nowhere+3".
  std::string next(int stream = 0) {
    const auto show = backlog_.next_show(stream);
    if (!show) return "";
    if (show->bytes) {
      EXPECT_EQ(show->size, show->bytes->size() - show->skip);
      return show->bytes->substr(show->skip);
    }
    const LogExtents::Piece& piece = show->piece;
    if (piece.size == 0) return "nowhere+" + std::to_string(show->size);
    EXPECT_EQ(show->size, piece.size);
    return in_file(piece.position, piece.size, piece.file);
  }
  std::string show(int stream = 0) {
    std::string text = next(stream);
    if (!text.empty()) backlog_.shown(stream, backlog_.next_show(stream)->size, now_);
    return text;
  }
  // Bytes that the console gets from memory, before there is something else or nothing.
  std::size_t show_from_memory() {
    std::size_t bytes = 0;
    for (auto show = backlog_.next_show(0); show && show->bytes; show = backlog_.next_show(0)) {
      bytes += show->size;
      backlog_.shown(0, show->size, now_);
    }
    return bytes;
  }

  LogBacklog backlog_{{.unwritten = 10'000, .unshown = 5'000, .tail = 8, .patience = std::chrono::seconds(2)}};
  std::vector<std::string> came_ = std::vector<std::string>(2);
  Time now_ = Time{} + std::chrono::hours(1);
};

}  // namespace launch
