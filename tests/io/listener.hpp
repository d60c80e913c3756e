// A pipe that stands for a console, and whoever reads it.
#pragma once

#include "launch/io/fd.hpp"

#include <algorithm>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace launch {

struct Listener {
  Listener() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    in = Fd(ends[0]);
    out = Fd(ends[1]);
  }

  // Until it has said so many bytes, or a deadline.
  std::string hear(std::size_t bytes) const {
    std::string heard;
    while (heard.size() < bytes) {
      pollfd fd{in.get(), POLLIN, 0};
      if (::poll(&fd, 1, 20'000) != 1) break;
      char chunk[65536];
      const ssize_t got = ::read(in.get(), chunk, std::min(sizeof chunk, bytes - heard.size()));
      if (got <= 0) break;
      heard.append(chunk, static_cast<std::size_t>(got));
    }
    return heard;
  }

  // What it has said by now.
  std::string heard() const { return hear(bytes_waiting(in.get())); }
  bool silent() const {
    pollfd fd{in.get(), POLLIN, 0};
    return ::poll(&fd, 1, 0) == 0;
  }

  Fd in, out;
};

}  // namespace launch
