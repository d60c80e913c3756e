// Reads the files of workers' output for somebody who wants to see it: the last lines first, and then what comes, each
// line once. A file that was replaced by a newer one (--log-max-size), and is PATH.1 or so now, is read to its end
// before the newer ones. It may wait for a disk, so it is used on a thread that may. It changes no file, and keeps
// those that it reads open.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/log_file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class LogReader {
 public:
  struct File {
    int rank = 0;
    int local_rank = 0;
    std::string path;
    std::shared_ptr<const FileTimes> times{};  // null: when its lines were written is not known
  };
  struct Piece {
    int rank = 0;
    int local_rank = 0;
    std::string stream;  // the name of its file: "stdout"
    std::string text;
  };
  struct Read {
    std::vector<Piece> pieces;
    bool more = false;      // there was no room for all
    bool undated = false;   // some lines may be older than `since`
    bool replaced = false;  // some lines are missing: they are in files that newer ones have replaced
  };

  struct Wish {
    int lines = 0;           // of the files of the first call: at most so many of the last ones; -1: any number
    std::size_t bytes = 0;   // about how many to give
    bool ends = false;       // also lines that have no end yet
    bool no_longer = false;  // only what was there at the first call
    // Of the files of the first call: only what was written since. Of a file without times that has changed since the
    // last lines are given.
    std::optional<Time> since{};
  };
  // What is new in `files`: whole lines. Those that come later than at the first call are read from their beginning. A
  // file that is not wanted any more is read to its end.
  Read read(const std::vector<File>& files, const Wish& wish);

 private:
  struct Start {
    int lines = 0;
    std::optional<Time> since{};
  };
  struct Source {
    File file;
    std::optional<Start> start{};  // nullopt: at the beginning
    bool wanted = true;
    Fd fd{};
    std::uint64_t offset = 0;
    std::uint64_t end = ~std::uint64_t{0};  // where to stop
  };
  struct Taken {
    std::string text;
    bool all = true;        // that is there
    bool replaced = false;  // files that came before it are gone
  };

  void want(const std::vector<File>& files, const Start& start);
  static std::uint64_t offset_of(const Source& source, std::uint64_t size);
  static bool begin(Source& source, bool no_longer);
  static bool open_next(Source& source, bool& replaced);
  static bool is_replaced(const Source& source);
  static Taken take(Source& source, const Wish& wish);

  std::vector<Source> sources_;
  std::size_t next_ = 0;  // the one that is read first, so that all have their turn
  bool began_ = false;
};

}  // namespace launch
