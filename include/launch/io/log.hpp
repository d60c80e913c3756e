// The launcher's own messages: one line a fact, on standard error. A user's verdict is not a log line: write_report.
#pragma once

#include <string>
#include <string_view>

namespace launch {

// Once, before the first message.
void open_log();

void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

// Why the store closed a connection. A scanner that comes again and again does not fill the log: ten lines are all.
void log_refusal(const std::string& reason);

// Several lines, unadorned but for the program's name in front of the first.
void write_report(std::string_view text);

}  // namespace launch
