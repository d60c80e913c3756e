// Reads the files of workers' output for somebody who wants to see it: the last lines first, and then what comes, each
// line once. A file that was replaced by a newer one (--log-max-size) is read to its end before the newer one. It may
// wait for a disk, so it is used on a thread that may. It changes no file, and keeps those that it reads open.
#pragma once

#include "launch/io/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace launch {

class LogReader {
 public:
  struct File {
    int rank = 0;
    int local_rank = 0;
    std::string path;
  };
  struct Piece {
    int rank = 0;
    int local_rank = 0;
    std::string stream;  // the name of its file: "stdout"
    std::string text;
  };
  struct Read {
    std::vector<Piece> pieces;
    bool more = false;  // there was no room for all
  };

  // What is new in `files`, at most about `most` bytes: whole lines, and with `ends` also those that have no end yet.
  // The files of the first call are read from their last `lines` lines on, those that come later from their beginning.
  // A file that is not wanted any more is read to its end.
  Read read(const std::vector<File>& files, int lines, std::size_t most, bool ends);

 private:
  struct Source {
    File file;
    int last_lines = -1;  // where to begin; -1: at the beginning
    bool wanted = true;
    Fd fd{};
    std::uint64_t offset = 0;
  };

  void want(const std::vector<File>& files, int lines);
  static bool begin(Source& source);
  static bool is_replaced(const Source& source);
  static std::string take(Source& source, std::size_t most, bool ends);

  std::vector<Source> sources_;
  std::size_t next_ = 0;  // the one that is read first, so that all have their turn
  bool began_ = false;
};

}  // namespace launch
