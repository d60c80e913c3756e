// Where the bytes of one stream that were written to files lie. The stream's bytes are counted from 0, lost ones
// included; the caller numbers the files.
//
// All offsets, positions and sizes are bytes. Bytes that follow each other in one file cost one entry. So an entry is
// added only where bytes were lost or a file begins, and entries go only with their file, or if they are taken back.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace launch {

class LogExtents {
 public:
  struct Piece {
    int file = 0;
    std::uint64_t position = 0;  // in the file
    std::uint64_t size = 0;

    bool operator==(const Piece&) const = default;
  };

  // The bytes from `offset` on lie in `file` from `position` on. REQUIRES: offset >= end(); nothing is written twice.
  void wrote(std::uint64_t offset, std::uint64_t size, int file, std::uint64_t position);
  // Adds the entries of a later part.
  void append(const LogExtents& later);
  // The file was deleted: its bytes lie nowhere.
  void forget(int file);

  // What was written from `offset` on is no longer there. Returns how many bytes that was.
  std::uint64_t take_back(std::uint64_t offset);

  // The bytes from `offset` on that lie in one piece; nullopt if the byte at `offset` lies in no file.
  std::optional<Piece> find(std::uint64_t offset) const;
  // The first offset, from this one on, that lies in a file.
  std::optional<std::uint64_t> next(std::uint64_t offset) const;
  // How many bytes lie in files.
  std::uint64_t bytes() const;
  // After the last byte that was ever written, even to a file that is gone; 0 if none was.
  std::uint64_t end() const { return end_; }

 private:
  struct Extent {
    std::uint64_t offset = 0;
    Piece piece;

    std::uint64_t end() const { return offset + piece.size; }
  };

  // The first extent with a byte at or after `offset`.
  std::deque<Extent>::const_iterator at(std::uint64_t offset) const;

  std::deque<Extent> extents_;  // ascending, none empty, none overlap
  std::uint64_t end_ = 0;
};

}  // namespace launch
