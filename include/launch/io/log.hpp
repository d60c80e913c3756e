// The launcher's own messages: one line a fact, on standard error. A user's verdict is not a log line: write_report.
//
// Saying something never waits (io/patient_output.hpp), and may be done by any thread; but not before a fork.
#pragma once

#include "launch/core/base/time.hpp"

#include <string>
#include <string_view>

namespace launch {

// Once, before the first message.
void open_log();

void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

// How a wait goes on: on a terminal that is ours alone one line that changes, elsewhere a line (io/message_console).
void log_progress(std::string_view message);
// How often a wait is worth another word.
Duration progress_interval();
// The wait is over: a terminal's line goes.
void end_progress();

// Workers write to this descriptor themselves from now on, until they have ended.
void lend_terminal(int fd);
void take_terminal_back();

// Why the store closed a connection. A scanner that comes again and again does not fill the log: ten lines are all.
void log_refusal(const std::string& reason);

// Several lines, unadorned but for the program's name in front of the first.
void write_report(std::string_view text);
// A line as it is, for machines.
void write_bare(std::string_view line);

// At the end: waits until all that was said is written, at most so long. False: the rest will be lost.
bool flush_log(Duration patience);

}  // namespace launch
