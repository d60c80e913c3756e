// Where a Python worker is, read from what `py-spy dump` or Python's own faulthandler prints of its threads. Pure;
// reads any bytes in linear time. What it does not understand it leaves out. It names the place in the words of the
// program: function, file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The main thread's stack, innermost first, each as "f (x.py:3)", or as "poll (libc.so.6)" where there is no line;
// empty if there is none. Up to 256 frames of 300 bytes.
std::vector<std::string> main_stack(std::string_view text);

// The one frame of a stack worth naming: the innermost that is neither native, nor a decorator's, nor one of Python's
// own waits, as these say nothing about what is waited for; the innermost of all where there is no other.
std::string stack_summary(const std::vector<std::string>& stack);

}  // namespace launch
