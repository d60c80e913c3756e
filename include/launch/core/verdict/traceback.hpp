// The traceback that a Python worker left in its standard error when an exception ended it: the few lines of it that
// belong in launch's own report. Pure; reads any bytes in linear time.
//
// Python prints several tracebacks for chained exceptions, for groups and for a data loader's "Original Traceback". The
// last one of them is taken, or the group; the exceptions that led to it and the members of the group are a line each.
// Exceptions that Python says it ignored, as in destructors, are left out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct Traceback {
  std::vector<std::string> frames;  // "  File "x.py", line 3, in f" and "    the source line", outermost first
  // "ValueError: bad batch": the first line of the exception's text, and the next one after a colon; of an NCCL error,
  // whose first line is long and says little, also what NCCL said.
  std::string error;
  std::vector<std::string> causes{};   // at most 6 that led to it, the first one first: "KeyError: 'k' (x.py:3 in f)"
  std::vector<std::string> members{};  // of an exception group, at most 8; those of a group within it are set in

  bool operator==(const Traceback&) const = default;
};

// The last complete traceback in `text`, the last part of a standard error, with at most `most_lines` of its last frame
// lines; each line is cut to 300 bytes. None if much other output follows it: then it did not end the worker.
std::optional<Traceback> last_traceback(std::string_view text, std::size_t most_lines);

}  // namespace launch
