// A LogFile with what its owner knows of it, and a disk that can be full, for tests.
#pragma once

#include "launch/core/logs/log_extents.hpp"
#include "launch/io/log_file.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace launch {

inline constexpr rlim_t unlimited = RLIM_INFINITY;

// The disk is full when a file has so many bytes: standard output, too, so no test may fail meanwhile.
class Disk {
 public:
  Disk() : before_(::signal(SIGXFSZ, SIG_IGN)) { ::getrlimit(RLIMIT_FSIZE, &limit_); }
  ~Disk() {
    hold(unlimited);
    ::signal(SIGXFSZ, before_);
  }
  void hold(rlim_t bytes) const {
    const rlimit now{std::min(bytes, limit_.rlim_max), limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }

 private:
  void (*before_)(int);
  rlimit limit_{};
};

struct Log {
  Log(const std::string& path, std::uint64_t max_size, int max_files) : file(path, max_size, max_files) {
    EXPECT_TRUE(file.open());
  }
  LogBacklog::Written append(const std::string& text) {
    const std::uint64_t offset = given.size();
    given += text;
    LogBacklog::Written result;
    file.append(offset, text, result);
    return note(result);
  }
  // Lost before the file has seen it.
  void lose(const std::string& text) { given += text; }
  void finish() {
    LogBacklog::Written result;
    file.finish(given.size(), result);
    note(result);
  }
  std::uint64_t lost() const { return given.size() - in_file; }

  // Every byte that is said to be in a file is there.
  void check() const {
    for (auto at = extents.next(0); at; at = extents.next(*at)) {
      const LogExtents::Piece piece = *extents.find(*at);
      std::string bytes;
      file.read_back(piece, bytes);
      ASSERT_EQ(bytes, given.substr(*at, piece.size));
      *at += piece.size;
    }
  }

  LogFile file;
  LogExtents extents;
  std::string given;
  std::uint64_t in_file = 0;
  std::vector<int> deleted;

 private:
  LogBacklog::Written note(LogBacklog::Written written) {
    if (written.taken_back_from) in_file -= extents.take_back(*written.taken_back_from);
    extents.append(written.extents);
    in_file += written.extents.bytes();
    for (const int gone : written.deleted) {
      extents.forget(gone);
      deleted.push_back(gone);
    }
    return written;
  }
};

}  // namespace launch
