// What the C++ run-time library says when an exception that nobody catches ends a program, as a thread of NCCL's
// watchdog does in Python workers: the exception's class and text. Used by last_words. Pure; reads any bytes in linear
// time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace launch {

// "c10::DistBackendError: Watchdog caught collective operation timeout", at most 300 bytes, from `text`, the last part
// of a standard error. The messages are those of libstdc++ and libc++. None if much other output follows.
std::optional<std::string> terminate_text(std::string_view text);

}  // namespace launch
