// Decides where a rotated log file ends: between two lines, whatever pieces the stream comes in.
//
// A writer appends what cut_for_file says. If bytes remain, the next file begins with them, from FileFill{}. So no byte
// is lost or written twice, no file is empty, and none is larger than max_size plus the longest line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace launch {

struct FileFill {
  std::uint64_t size = 0;       // bytes in the file
  std::uint64_t open_line = 0;  // how many of these follow its last line end

  bool operator==(const FileFill&) const = default;
};

// How many of `bytes` still go to this file, from 0 on. It ends with the last line that fits into max_size bytes. A
// line that has begun in the file is finished there, even if that goes beyond max_size. Only a line of more than
// max_size bytes, its end included, is torn; the rest counts as a line of its own. max_size 0: all of them.
std::size_t cut_for_file(std::string_view bytes, FileFill fill, std::uint64_t max_size);

// What is in the file after that.
FileFill after(FileFill fill, std::string_view appended);

}  // namespace launch
