#include "launch/io/log_file.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

// Returns how much was written: less than all, with errno set, if the file system takes no more.
std::size_t write_some(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

constexpr std::size_t most_read_back = std::size_t{256} << 10;

}  // namespace

LogFile::LogFile(std::string path, std::uint64_t max_size, int max_files)
    : path_(std::move(path)), max_size_(max_size), max_files_(max_files) {}

Status LogFile::open() {
  auto file = open_log(path_);
  if (!file) return file.error();
  file_ = *std::move(file);
  return {};
}

std::string LogFile::name(int age) const { return age == 0 ? path_ : fmt::format("{}.{}", path_, age); }

void LogFile::append(std::uint64_t offset, std::string_view bytes, Written& result) {
  if (offset > next_) {
    drop_open_line(next_, result);
    gap_ += offset - next_;
    torn_ = true;
  }
  next_ = offset + bytes.size();
  while (!bytes.empty()) {
    std::size_t cut = cut_for_file(bytes, fill_, max_size_);
    if (cut == 0) {
      if (rotate(result)) continue;
      cut = bytes.size();   // no next file can be made: this one grows
      fill_.open_line = 0;  // that line is torn already
    }
    write(offset, bytes.substr(0, cut), result);
    offset += cut;
    bytes.remove_prefix(cut);
  }
}

void LogFile::finish(std::uint64_t end, Written& result) {
  if (end > next_) drop_open_line(next_, result);
  gap_ += end - next_;
  next_ = end;
  if (gap_ == 0) return;
  const std::string text = note(gap_);
  if (write_some(file_.get(), text) < text.size()) cut_off();
}

std::string LogFile::note(std::uint64_t lost) const {
  return fmt::format("[launch: {} bytes lost here: {}]\n", lost, reason());
}

std::string LogFile::reason() const { return error_ == 0 ? "the file system did not answer" : std::strerror(error_); }

void LogFile::write(std::uint64_t offset, std::string_view bytes, Written& result) {
  if (torn_) {
    const std::size_t rest = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    torn_ = bytes[rest - 1] != '\n';
    gap_ += rest;
    offset += rest;
    bytes.remove_prefix(rest);
    if (bytes.empty()) return;
  }
  const std::string said = gap_ > 0 ? note(gap_) : std::string();
  times_->wrote(fill_.size, now());  // before a reader can see them, and again after a write that took its time
  std::size_t done = write_some(file_.get(), said);
  if (done == said.size()) done += write_some(file_.get(), bytes);
  const int error = errno;
  std::size_t reached = done > said.size() ? done - said.size() : 0;
  if (reached < bytes.size()) reached = bytes.substr(0, reached).rfind('\n') + 1;  // no end of a line found: 0
  if (reached > 0) {
    result.extents.wrote(offset, reached, number_, fill_.size + said.size());
    times_->wrote(fill_.size, now());
    fill_ = after(after(fill_, said), bytes.substr(0, reached));
    gap_ = 0;
  }
  if (reached == bytes.size()) return;
  error_ = error;
  drop_open_line(offset + reached, result);
  gap_ += bytes.size() - reached;
  torn_ = bytes.back() != '\n';
  cut_off();
}

// Takes an unfinished line out of the file, so that no half line stays; `end` is the stream's offset behind it.
void LogFile::drop_open_line(std::uint64_t end, Written& result) {
  if (fill_.open_line == 0) return;
  const std::uint64_t from = end - fill_.open_line;
  result.taken_back_from = std::min(from, result.taken_back_from.value_or(from));  // one write may drop several
  result.extents.take_back(from);
  gap_ += fill_.open_line;
  fill_.size -= fill_.open_line;
  fill_.open_line = 0;
  times_->cut(fill_.size);
  cut_off();
}

// Cuts off what is behind the last byte that counts.
void LogFile::cut_off() const { (void)!::ftruncate(file_.get(), static_cast<off_t>(fill_.size)); }

// Deletes the oldest file and moves the others up by one. False: no file could be made, so the present one goes on.
bool LogFile::rotate(Written& result) {
  const std::string next = path_ + ".next";
  auto file = open_log(next);
  if (!file) return false;
  const std::lock_guard lock(mutex_);
  if (number_ + 1 >= max_files_) {
    ::unlink(name(max_files_ - 1).c_str());
    result.deleted.push_back(number_ + 1 - max_files_);
  }
  for (int age = std::min(number_, max_files_ - 2); age >= 0; --age)
    (void)std::rename(name(age).c_str(), name(age + 1).c_str());
  (void)std::rename(next.c_str(), path_.c_str());
  fill_ = {};
  times_->clear();
  ++number_;
  file_ = *std::move(file);
  return true;
}

void LogFile::read_back(const LogExtents::Piece& piece, std::string& bytes) const {
  bytes.resize(std::min<std::uint64_t>(piece.size, most_read_back));
  const std::lock_guard lock(mutex_);
  const int age = number_ - piece.file;
  const Fd older(age == 0 ? -1 : ::open(name(age).c_str(), O_RDONLY | O_CLOEXEC));
  const int fd = age == 0 ? file_.get() : older.get();
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(piece.position));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
}

}  // namespace launch
