#include "launch/core/logs/log_extents.hpp"

#include <algorithm>

namespace launch {

void LogExtents::wrote(std::uint64_t offset, std::uint64_t size, int file, std::uint64_t position) {
  if (size == 0) return;
  end_ = offset + size;
  if (!extents_.empty()) {
    Extent& last = extents_.back();
    const bool goes_on = last.end() == offset && last.piece.file == file;
    if (goes_on && last.piece.position + last.piece.size == position) {
      last.piece.size += size;
      return;
    }
  }
  extents_.push_back({offset, {file, position, size}});
}

void LogExtents::append(const LogExtents& later) {
  for (const Extent& extent : later.extents_)
    wrote(extent.offset, extent.piece.size, extent.piece.file, extent.piece.position);
}

std::uint64_t LogExtents::bytes() const {
  std::uint64_t sum = 0;
  for (const Extent& extent : extents_) sum += extent.piece.size;
  return sum;
}

std::uint64_t LogExtents::take_back(std::uint64_t offset) {
  std::uint64_t gone = 0;
  while (!extents_.empty() && extents_.back().end() > offset) {
    Extent& last = extents_.back();
    const std::uint64_t kept = last.offset < offset ? offset - last.offset : 0;
    gone += last.piece.size - kept;
    last.piece.size = kept;
    if (kept > 0) break;
    extents_.pop_back();
  }
  return gone;
}

void LogExtents::forget(int file) {
  std::erase_if(extents_, [file](const Extent& extent) { return extent.piece.file == file; });
}

std::deque<LogExtents::Extent>::const_iterator LogExtents::at(std::uint64_t offset) const {
  return std::partition_point(extents_.begin(), extents_.end(),
                              [offset](const Extent& extent) { return extent.end() <= offset; });
}

std::optional<LogExtents::Piece> LogExtents::find(std::uint64_t offset) const {
  const auto extent = at(offset);
  if (extent == extents_.end() || extent->offset > offset) return std::nullopt;
  const std::uint64_t before = offset - extent->offset;
  return Piece{extent->piece.file, extent->piece.position + before, extent->piece.size - before};
}

std::optional<std::uint64_t> LogExtents::next(std::uint64_t offset) const {
  const auto extent = at(offset);
  if (extent == extents_.end()) return std::nullopt;
  return std::max(offset, extent->offset);
}

}  // namespace launch
