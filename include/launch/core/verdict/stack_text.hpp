// Where a Python worker is, read from what `py-spy dump` or Python's own faulthandler prints about its threads. Pure;
// reads any bytes in linear time. It leaves out what it does not understand. It names the place as the program does: by
// function, file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The main thread's stack, innermost frame first, each as "f (x.py:3)", or as "poll (libc.so.6)" if it has no line
// number; empty if there is no stack. Up to 256 frames of 300 bytes.
std::vector<std::string> main_stack(std::string_view text);

// The one frame of a stack that is worth naming: the innermost that is not native code, a decorator or one of Python's
// own waits, since these do not say what is waited for. If there is no such frame: the innermost of all.
std::string stack_summary(const std::vector<std::string>& stack);

}  // namespace launch
