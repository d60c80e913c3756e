// The launcher's own messages: one line for each fact, on standard error. A verdict is not a log line: see
// write_report().
//
// Saying something never waits (io/patient_output.hpp). Any thread may do it, but not before a fork.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/config/config.hpp"

#include <string>
#include <string_view>

namespace launch {

// Once, before the first message.
void open_log();
// Until it is called, all but details is said.
void set_verbosity(Verbosity verbosity);

// A step, for those who want to know each.
void log_detail(std::string_view message);
void log_info(std::string_view message);
// Information that `launch --hosts` shows as well, with the name of the host, since only the node has it.
void log_notice(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

// How a wait goes on: one line that changes, on a terminal that is ours alone; elsewhere a new line
// (io/message_console).
void log_progress(std::string_view message);
// How often the progress of a wait should be reported.
Duration progress_interval();
// The wait is over: removes the line from a terminal.
void end_progress();

// Workers write to this descriptor themselves from now on, until they have ended.
void lend_terminal(int fd);
void take_terminal_back();

// Why the store closed a connection. Only ten such lines are written, so that a port scanner does not fill the log.
void log_refusal(const std::string& reason);
// Why the store does not let a node in. Only ten such lines are written, since somebody may start the node again and
// again.
void log_objection(const std::string& reason);

// Several lines as they are, except that the program's name is put before the first.
void write_report(std::string_view text);
// A line as it is, for machines.
void write_bare(std::string_view line);

// To be called at the end: waits until all that was said is written, for `patience` at most. False: the rest will be
// lost.
bool flush_log(Duration patience);

}  // namespace launch
