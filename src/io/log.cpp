#include "launch/io/log.hpp"

#include "launch/io/fd.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

bool progress_shown = false;

// Columns of the terminal on standard error; 0: it is none.
std::size_t terminal_width() {
  if (::isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// A terminal that is held (Ctrl-S) must not hold us: then the line is left as it is.
void rewrite_line(std::string_view text) {
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) != 1 || (terminal.revents & POLLOUT) == 0) return;
  fmt::print(stderr, "\r{}\x1b[K", text);
  std::fflush(stderr);
}

}  // namespace

void open_log() {
  auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>();
  auto logger = std::make_shared<spdlog::logger>("launch", std::move(sink));
  // The level stands only where it says more than the sentence.
  logger->set_pattern("launch: %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void log_info(std::string_view message) {
  end_progress();
  spdlog::info("{}", message);
}
void log_warning(std::string_view message) {
  end_progress();
  spdlog::warn("warning: {}", message);
}
void log_error(std::string_view message) {
  end_progress();
  spdlog::error("error: {}", message);
}
void log_refusal(const std::string& reason) {
  static int left = 10;
  if (left-- > 0) log_warning("store: " + reason);
}

void log_progress(std::string_view message) {
  const std::size_t width = terminal_width();
  if (width == 0) return log_info(message);
  const std::string line = fmt::format("launch: {}", message);
  rewrite_line(std::string_view(line).substr(0, width - 1));
  progress_shown = true;
}

Duration progress_interval() { return terminal_width() == 0 ? 30s : 1s; }

void end_progress() {
  if (!progress_shown) return;
  progress_shown = false;
  rewrite_line("");
}

void write_report(std::string_view text) {
  end_progress();
  spdlog::error("{}", text);
}

void write_bare(std::string_view line) {
  end_progress();
  (void)write_all(STDERR_FILENO, fmt::format("{}\n", line));
}

}  // namespace launch
