// New lines of the workers' logs as launch-ctl shows them, each with the rank that wrote it. Pure. A bar that is drawn
// over itself is shown as it was last, and nothing that a terminal would obey is left. Lines are as long as they were
// written.
#pragma once

#include "launch/core/control/screen_text.hpp"

#include <string>

namespace launch {

std::string log_screen(const Screen& screen);

}  // namespace launch
