#include "launch/io/log.hpp"

#include "launch/io/message_console.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace launch {
namespace {

// How much is said. spdlog has no level between information and a warning, so all that is less has moved down by one.
using Level = spdlog::level::level_enum;
constexpr Level details = Level::trace;
constexpr Level information = Level::debug;
constexpr Level notices = Level::info;

Level level_of(Verbosity verbosity) {
  switch (verbosity) {
    case Verbosity::quiet:
      return Level::warn;
    case Verbosity::hosted:
      return notices;
    case Verbosity::usual:
      return information;
    case Verbosity::verbose:
      return details;
  }
  return information;
}

class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    message_console().say({text.data(), text.size()});
  }
  void flush_() override {}
};

}  // namespace

void open_log() {
  message_console().open(STDERR_FILENO);
  auto logger = std::make_shared<spdlog::logger>("launch", std::make_shared<ConsoleSink>());
  // The level is shown only if it says more than the sentence.
  logger->set_pattern("launch: %v");
  logger->set_level(information);
  spdlog::set_default_logger(std::move(logger));
}

void set_verbosity(Verbosity verbosity) {
  spdlog::set_level(level_of(verbosity));
  if (verbosity == Verbosity::verbose) spdlog::set_pattern("launch: %H:%M:%S.%e %v");
}

void log_detail(std::string_view message) { spdlog::log(details, "{}", message); }
void log_info(std::string_view message) { spdlog::log(information, "{}", message); }
void log_notice(std::string_view message) { spdlog::log(notices, "{}", message); }
void log_warning(std::string_view message) { spdlog::warn("warning: {}", message); }
void log_error(std::string_view message) { spdlog::error("error: {}", message); }

void log_refusal(const std::string& reason) {
  static std::atomic<int> left = 10;
  if (left-- > 0) log_warning("store: " + reason);
}

void log_objection(const std::string& reason) {
  static std::atomic<int> left = 10;
  if (left-- > 0) log_warning("a node is not let in: " + reason);
}

void log_progress(std::string_view message) {
  if (spdlog::should_log(information)) message_console().show_progress(fmt::format("launch: {}", message));
}

Duration progress_interval() { return message_console().progress_interval(); }
void end_progress() { message_console().end_progress(); }

void lend_terminal(int fd) { message_console().lend(fd); }
void take_terminal_back() { message_console().take_back(); }

void write_report(std::string_view text) { spdlog::error("{}", text); }
void write_bare(std::string_view line) { message_console().say(fmt::format("{}\n", line)); }

bool flush_log(Duration patience) { return message_console().flush(patience); }

}  // namespace launch
