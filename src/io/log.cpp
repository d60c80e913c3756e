#include "launch/io/log.hpp"

#include "launch/io/patient_output.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view line_away = "\r\x1b[K";  // a terminal's line, as if it had never been

// Columns of the terminal on standard error; 0: it is none.
std::size_t terminal_width() {
  if (::isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// Standard error, and whether the last thing on it is a line of progress.
class Console {
 public:
  void open() { output_ = PatientOutput(STDERR_FILENO); }

  void say(std::string_view lines) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(progress_shown_, false)) return output_.write(lines);
    output_.write(fmt::format("{}{}", line_away, lines));
  }

  // A terminal that is held (Ctrl-S) keeps the line that it has.
  void show_progress(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (output_.offer(fmt::format("\r{}\x1b[K", line))) progress_shown_ = true;
  }
  void end_progress() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(progress_shown_, false)) output_.write(line_away);
  }

  bool flush(Duration patience) { return output_.flush(patience); }

 private:
  std::mutex mutex_;
  PatientOutput output_;
  bool progress_shown_ = false;
};

Console console;

class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    console.say({text.data(), text.size()});
  }
  void flush_() override {}
};

}  // namespace

void open_log() {
  console.open();
  auto logger = std::make_shared<spdlog::logger>("launch", std::make_shared<ConsoleSink>());
  // The level stands only where it says more than the sentence.
  logger->set_pattern("launch: %v");
  spdlog::set_default_logger(std::move(logger));
}

void log_info(std::string_view message) { spdlog::info("{}", message); }
void log_warning(std::string_view message) { spdlog::warn("warning: {}", message); }
void log_error(std::string_view message) { spdlog::error("error: {}", message); }

void log_refusal(const std::string& reason) {
  static std::atomic<int> left = 10;
  if (left-- > 0) log_warning("store: " + reason);
}

void log_progress(std::string_view message) {
  const std::size_t width = terminal_width();
  if (width == 0) return log_info(message);
  const std::string line = fmt::format("launch: {}", message);
  console.show_progress(std::string_view(line).substr(0, width - 1));
}

Duration progress_interval() { return terminal_width() == 0 ? 30s : 1s; }

void end_progress() { console.end_progress(); }

void write_report(std::string_view text) { spdlog::error("{}", text); }
void write_bare(std::string_view line) { console.say(fmt::format("{}\n", line)); }

bool flush_log(Duration patience) { return console.flush(patience); }

}  // namespace launch
