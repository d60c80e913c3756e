#include "launch/core/logs/log_backlog.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace launch {
namespace {

constexpr std::size_t most_in_one_write = std::size_t{1} << 20;

// What a chunk costs in memory, with the bookkeeping for it.
std::size_t weight(const LogBacklog::Bytes& bytes) { return bytes->size() + 128; }

}  // namespace

void LogBacklog::add_stream(bool shown) {
  streams_.emplace_back();
  streams_.back().shown = shown;
}

Time LogBacklog::room_at(int number) const {
  Time at{};
  if (unwritten_ >= limits_.unwritten) at = later(last_write_, limits_.patience);
  const bool full = streams_.at(index(number)).shown && kept_lost_ >= limits_.unshown;
  if (full && !deaf_) at = std::max(at, later(last_show_, limits_.patience));
  return at;
}

void LogBacklog::receive(int number, Bytes bytes, Time now) {
  Stream& stream = streams_.at(index(number));
  if (bytes->empty()) return;
  keep_tail(stream, *bytes);
  const std::uint64_t offset = stream.end;
  stream.end += bytes->size();
  const auto in_vain = [&](Time since) { return now >= later(since, limits_.patience); };
  stalled_ = stalled_ || (unwritten_ >= limits_.unwritten && in_vain(last_write_));
  deaf_ = deaf_ || (stream.shown && kept_lost_ >= limits_.unshown && in_vain(last_show_));
  if (stalled_) {
    if (!stream.shown || deaf_) return;
    if (kept_lost_ == 0) last_show_ = now;
    kept_lost_ += weight(bytes);
    stream.chunks.emplace(offset, Chunk{std::move(bytes), Fate::lost});
    return;
  }
  if (unwritten_ == 0) last_write_ = now;
  unwritten_ += weight(bytes);
  stream.chunks.emplace(offset, Chunk{std::move(bytes), Fate::waits});
  if (!std::exchange(stream.has_turn, true)) turns_.push_back(number);
}

void LogBacklog::keep_tail(Stream& stream, const std::string& bytes) const {
  if (bytes.size() >= limits_.tail) {
    stream.tail.assign(bytes, bytes.size() - limits_.tail, limits_.tail);
    return;
  }
  if (stream.tail.size() + bytes.size() > 2 * limits_.tail) stream.tail.erase(0, stream.tail.size() - limits_.tail);
  stream.tail += bytes;
}

std::optional<LogBacklog::Write> LogBacklog::next_write() {
  if (turns_.empty()) return std::nullopt;
  const int number = turns_.front();
  turns_.pop_front();
  Stream& stream = streams_.at(index(number));
  stream.has_turn = false;
  Write write;
  write.stream = number;
  auto chunk = stream.chunks.lower_bound(stream.write_from);
  while (chunk->second.fate != Fate::waits) ++chunk;  // one does, since the stream had its turn
  write.offset = stream.write_from = chunk->first;
  for (; chunk != stream.chunks.end(); ++chunk) {
    if (chunk->second.fate != Fate::waits) continue;
    // Bytes that were given up in between leave a gap, and the next write begins after it.
    if (chunk->first != stream.write_from || write.size >= most_in_one_write) {
      stream.has_turn = true;
      turns_.push_back(number);
      break;
    }
    chunk->second.fate = Fate::in_hand;
    write.bytes.push_back(chunk->second.bytes);
    write.size += chunk->second.bytes->size();
    stream.write_from += chunk->second.bytes->size();
  }
  ++in_hand_;
  return write;
}

// The file no longer needs this chunk: it stays only if the console still wants it and there is room.
void LogBacklog::settle(Stream& stream, std::uint64_t offset, bool lost) {
  const auto found = stream.chunks.find(offset);
  const Bytes& bytes = found->second.bytes;
  unwritten_ -= weight(bytes);
  std::size_t& kept = lost ? kept_lost_ : kept_written_;
  const bool room = lost ? !deaf_ : kept < limits_.unshown;
  if (!wants(stream, offset + bytes->size()) || !room) {
    stream.chunks.erase(found);
    return;
  }
  found->second.fate = lost ? Fate::lost : Fate::written;
  kept += weight(bytes);
}

void LogBacklog::wrote(const Write& write, const Written& result, Time now) {
  Stream& stream = streams_.at(index(write.stream));
  if (result.taken_back_from) stream.in_file -= stream.extents.take_back(*result.taken_back_from);
  stream.extents.append(result.extents);
  stream.in_file += result.extents.bytes();
  for (const int file : result.deleted) stream.extents.forget(file);
  const bool lost = result.extents.bytes() < write.size;
  if (lost && kept_lost_ == 0) last_show_ = now;
  std::uint64_t offset = write.offset;
  for (const Bytes& bytes : write.bytes) {
    settle(stream, offset, lost);
    offset += bytes->size();
  }
  if (!write.bytes.empty()) --in_hand_;
  stalled_ = false;
  last_write_ = now;
}

std::uint64_t LogBacklog::lost(int number) const {
  const Stream& stream = streams_.at(index(number));
  return stream.end - stream.in_file;
}

std::optional<LogBacklog::Show> LogBacklog::next_show(int number) const {
  const Stream& stream = streams_.at(index(number));
  if (!stream.shown || stream.cursor >= stream.end) return std::nullopt;
  Show show;
  const auto behind = stream.chunks.upper_bound(stream.cursor);
  if (behind != stream.chunks.begin()) {
    const auto& [offset, chunk] = *std::prev(behind);
    if (stream.cursor < offset + chunk.bytes->size()) {
      show.bytes = chunk.bytes;
      show.skip = static_cast<std::size_t>(stream.cursor - offset);
      show.size = chunk.bytes->size() - show.skip;
      return show;
    }
  }
  std::uint64_t until = behind == stream.chunks.end() ? stream.end : behind->first;
  if (const auto piece = stream.extents.find(stream.cursor)) {
    show.piece = *piece;
    show.piece.size = std::min(piece->size, until - stream.cursor);
    show.size = show.piece.size;
    return show;
  }
  if (const auto next = stream.extents.next(stream.cursor)) until = std::min(until, *next);
  show.size = until - stream.cursor;
  return show;
}

void LogBacklog::shown(int number, std::uint64_t size, Time now) {
  Stream& stream = streams_.at(index(number));
  auto chunk = stream.chunks.upper_bound(stream.cursor);
  if (chunk != stream.chunks.begin()) --chunk;
  stream.cursor += size;
  last_show_ = now;
  // A chunk that the file still needs stays until it is settled.
  while (chunk != stream.chunks.end() && chunk->first + chunk->second.bytes->size() <= stream.cursor) {
    const Fate fate = chunk->second.fate;
    if (fate == Fate::waits || fate == Fate::in_hand) {
      ++chunk;
    } else {
      (fate == Fate::lost ? kept_lost_ : kept_written_) -= weight(chunk->second.bytes);
      chunk = stream.chunks.erase(chunk);
    }
  }
  deaf_ = deaf_ && kept_lost_ >= limits_.unshown;
}

}  // namespace launch
