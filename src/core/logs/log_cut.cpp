#include "launch/core/logs/log_cut.hpp"

#include <algorithm>

namespace launch {

std::size_t cut_for_file(std::string_view bytes, FileFill fill, std::uint64_t max_size) {
  const std::uint64_t room = max_size - std::min(max_size, fill.size);
  if (max_size == 0 || bytes.size() <= room) return bytes.size();
  const std::string_view fits = bytes.substr(0, room);
  if (const auto end = fits.rfind('\n'); end != std::string_view::npos) return end + 1;
  // The first line does not fit. If it begins in these bytes, it goes to the next file, unless this one is empty.
  if (fill.open_line == 0 && fill.size > 0) return 0;
  const auto end = bytes.find('\n', room);
  const std::size_t line = end == std::string_view::npos ? bytes.size() : end + 1;
  return fill.open_line + line <= max_size ? line : room;
}

FileFill after(FileFill fill, std::string_view appended) {
  const std::uint64_t size = fill.size + appended.size();
  const auto end = appended.rfind('\n');
  if (end == std::string_view::npos) return {size, fill.open_line + appended.size()};
  return {size, appended.size() - end - 1};
}

}  // namespace launch
