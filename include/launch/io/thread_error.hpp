// Why a thread cannot be started, in words for the user. Used where a job cannot go on without the thread; whoever can
// do the work itself does that instead. It knows nothing but the number of the error, and what is behind that number in
// practice.
#pragma once

#include "launch/core/base/error.hpp"

#include <string_view>
#include <system_error>

namespace launch {

// `purpose`: "the workers' output".
Error thread_refused(std::string_view purpose, const std::error_code& code);

}  // namespace launch
