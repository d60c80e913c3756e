// The events of a job as sentences, for people who asked for each step (--verbose). The same facts as in event_record,
// without its promise: the words may change. app/event_log says them, with the time; what has a message of its own is
// left out.
#pragma once

#include "launch/core/events/event_record.hpp"

#include <string>

namespace launch {

// One line, without its end and without the time. Empty if the event is said anyway (Restarting).
std::string to_text(const JobEvent& event);

}  // namespace launch
