#include "launch/io/log_reader.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most_of_tail = std::size_t{16} << 20;  // that is looked through for the last lines
constexpr std::size_t part_of_tail = std::size_t{64} << 10;  // at a time
constexpr std::size_t longest_waiting_line = 4096;           // a longer one is given before it ends
constexpr std::size_t least_room = 4096;                     // for a file, so that lines are not cut
constexpr std::size_t longest_look_back = 65'536;            // for the beginning of a line
constexpr int usual_lines = 10;
constexpr int most_tries = 10;

std::string stream_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

std::uint64_t size_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

std::string read_at(int fd, std::uint64_t offset, std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// Where the last `lines` lines of the first `size` bytes of a file begin.
std::uint64_t offset_of_last(int fd, int lines, std::uint64_t size) {
  std::uint64_t begin = size;  // of the earliest line that is known
  int left = lines;
  for (std::uint64_t end = size; left > 0 && end > 0;) {
    if (size - end >= most_of_tail) return begin < size ? begin : end;  // not within a line, if there is one
    const std::uint64_t from = end - std::min<std::uint64_t>(end, part_of_tail);
    const std::string part = read_at(fd, from, static_cast<std::size_t>(end - from));
    for (std::size_t at = part.rfind('\n'); at != std::string::npos && left > 0;) {
      const std::uint64_t behind = from + at + 1;
      if (behind < size) {  // otherwise it is the end of the last line
        begin = behind;
        --left;
      }
      at = at == 0 ? std::string::npos : part.rfind('\n', at - 1);
    }
    end = from;
  }
  return left > 0 ? 0 : begin;
}

// Where the line begins that this position is in.
std::uint64_t begin_of_line(int fd, std::uint64_t position) {
  const std::uint64_t from = position - std::min<std::uint64_t>(position, longest_look_back);
  const std::size_t end = read_at(fd, from, static_cast<std::size_t>(position - from)).rfind('\n');
  if (end != std::string::npos) return from + end + 1;
  return from == 0 ? 0 : position;
}

enum class At {
  same,
  other,
  nothing
};

// What is there, compared with an open file.
At is_at(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  if (::stat(path.c_str(), &named) != 0) return At::nothing;
  return ::fstat(fd, &open) == 0 && open.st_ino == named.st_ino && open.st_dev == named.st_dev ? At::same : At::other;
}

bool has_changed_since(int fd, Time since) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  const double at = static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) / 1e9;
  return unix_time() - at <= seconds_of(now() - since);
}

}  // namespace

// Where to begin. What is written behind `size` meanwhile is new in any case.
std::uint64_t LogReader::offset_of(const Source& source, std::uint64_t size) {
  if (!source.start) return 0;
  const int fd = source.fd.get();
  const auto& [lines, since] = *source.start;
  const std::uint64_t of_last = lines < 0 ? 0 : offset_of_last(fd, lines, size);
  if (!since) return of_last;
  if (!source.file.times) {
    if (!has_changed_since(fd, *since)) return size;
    return lines < 0 ? offset_of_last(fd, usual_lines, size) : of_last;
  }
  const std::uint64_t begin = source.file.times->begin_of(*since).value_or(size);
  if (begin > size || is_replaced(source)) return of_last;  // that may be a position in another file
  return begin == size ? size : std::max(begin_of_line(fd, begin), of_last);
}

void LogReader::want(const std::vector<File>& files, const Start& start) {
  for (Source& source : sources_) source.wanted = false;
  for (const File& file : files) {
    const auto known = std::find_if(sources_.begin(), sources_.end(),
                                    [&file](const Source& source) { return source.file.path == file.path; });
    if (known != sources_.end()) {
      known->wanted = true;
    } else {
      sources_.push_back({file, began_ ? std::nullopt : std::optional(start)});
    }
  }
  began_ = true;
}

LogReader::Read LogReader::read(const std::vector<File>& files, const Wish& wish) {
  want(files, {wish.lines, wish.since});
  Read result;
  std::size_t room = wish.bytes;
  const std::size_t first = next_;
  for (std::size_t i = 0; i < sources_.size() && room >= least_room; ++i) {
    const std::size_t at = (first + i) % sources_.size();
    Source& source = sources_[at];
    const bool dated = !source.fd.valid() && source.start && source.start->since;
    Taken taken;
    const bool begun = begin(source, wish.no_longer);
    if (begun && dated && source.file.times && source.offset == 0)
      result.replaced = result.replaced || source.file.times->is_in_older_file(*source.start->since);
    if (begun) taken = take(source, {wish.lines, room, wish.ends || !source.wanted, false});
    room -= std::min(room, taken.text.size());
    result.more = result.more || !taken.all;
    result.replaced = result.replaced || taken.replaced;
    next_ = at + 1;
    if (taken.text.empty()) continue;
    result.undated = result.undated || (dated && !source.file.times);
    source.wanted = true;  // there may be more
    result.pieces.push_back(
        {source.file.rank, source.file.local_rank, stream_of(source.file.path), std::move(taken.text)});
  }
  result.more = result.more || room < least_room;
  if (!result.more) std::erase_if(sources_, [](const Source& source) { return !source.wanted; });
  std::stable_sort(result.pieces.begin(), result.pieces.end(),
                   [](const Piece& one, const Piece& other) { return one.rank < other.rank; });
  return result;
}

// False: there is nothing to read yet.
bool LogReader::begin(Source& source, bool no_longer) {
  if (source.fd.valid()) return true;
  auto opened = open_input(source.file.path);
  if (!opened) return false;
  source.fd = *std::move(opened);
  const std::uint64_t size = size_of(source.fd.get());
  source.offset = offset_of(source, size);
  if (no_longer) source.end = size;
  return true;
}

// The path leads to a newer file by now.
bool LogReader::is_replaced(const Source& source) { return is_at(source.fd.get(), source.file.path) == At::other; }

// The file that was begun when the open one was full, though several may have been begun meanwhile. `replaced`: the
// open one is not there any more, so it is the oldest that is. False: there is none yet.
bool LogReader::open_next(Source& source, bool& replaced) {
  const auto name = [&source](int age) { return source.file.path + (age == 0 ? "" : fmt::format(".{}", age)); };
  Fd next;
  for (int tries = 0; tries < most_tries && !next.valid(); ++tries) {
    int age = 1;
    while (is_at(source.fd.get(), name(age)) == At::other) ++age;
    const bool found = is_at(source.fd.get(), name(age)) == At::same;
    auto opened = open_input(name(age - 1));
    if (!opened) continue;
    replaced = replaced || !found;
    // Another one may have been begun just now.
    if (!found || is_at(source.fd.get(), name(age)) == At::same) next = *std::move(opened);
  }
  if (!next.valid()) return false;
  source.fd = std::move(next);
  source.start.reset();
  source.offset = 0;
  return true;
}

LogReader::Taken LogReader::take(Source& source, const Wish& wish) {
  source.offset = std::min(source.offset, size_of(source.fd.get()));  // it may have been cut
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>(wish.bytes, source.end - std::min(source.end, source.offset)));
  Taken taken;
  std::string text = read_at(source.fd.get(), source.offset, most);
  if (text.empty() && most > 0 && is_replaced(source)) {
    text = read_at(source.fd.get(), source.offset, most);  // what came before it was replaced
    if (text.empty() && open_next(source, taken.replaced)) text = read_at(source.fd.get(), 0, most);
  }
  taken.all = text.size() < wish.bytes && !(most > 0 && is_replaced(source));
  const std::size_t end = text.rfind('\n');
  const std::size_t rest = end == std::string::npos ? text.size() : text.size() - end - 1;
  const bool waits = taken.all && !wish.ends && rest < longest_waiting_line;
  if (waits || (!taken.all && end != std::string::npos)) text.resize(text.size() - rest);
  source.offset += text.size();
  taken.text = std::move(text);
  return taken;
}

}  // namespace launch
