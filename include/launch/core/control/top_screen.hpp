// The live page of launch-ctl: at most `rows` lines, so the workers that need a look come first: those that have
// failed, those that have not begun, and those that have been silent for longest. Pure; control_watch draws it
// again and again. Nothing that a worker wrote can move the reader's cursor.
#pragma once

#include "launch/core/control/screen_text.hpp"

#include <string>

namespace launch {

std::string top_screen(const Screen& screen);

}  // namespace launch
