// A process that goes on in the background: in a session of its own, so that the terminal may be closed, with its
// standard output and error in a file. The process that the user started comes back as soon as the other one says that
// it has begun, or when it has ended before. If the first one is killed meanwhile, the other one gets SIGTERM. Used by
// launch --hosts --detach, before any thread and before Asio. Decides nothing.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/fd.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace launch {

struct BackgroundStart {
  bool begun = false;
  pid_t pid = 0;
  int exit_code = 0;   // if it has not begun
  std::string said{};  // what it wrote into the file, if it has not begun
};

struct Detached {
  std::optional<BackgroundStart> start;  // in the process that the user started
  Fd begun{};                            // in the other one, for say_begun()
};

// Returns in both processes; an error if there is only one. The file is made, or written at its end.
Result<Detached> detach(const std::string& file);

// It no longer depends on the process that the user started.
void say_begun(Fd& begun);

}  // namespace launch
