#include "launch/io/log.hpp"

#include <memory>
#include <string>

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

namespace launch {

void open_log() {
  auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>();
  auto logger = std::make_shared<spdlog::logger>("launch", std::move(sink));
  // The level stands only where it says more than the sentence.
  logger->set_pattern("launch: %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void log_info(std::string_view message) { spdlog::info("{}", message); }
void log_warning(std::string_view message) { spdlog::warn("warning: {}", message); }
void log_error(std::string_view message) { spdlog::error("error: {}", message); }
void log_refusal(const std::string& reason) {
  static int left = 10;
  if (left-- > 0) log_warning("store: " + reason);
}

void write_report(std::string_view text) { spdlog::error("{}", text); }

}  // namespace launch
