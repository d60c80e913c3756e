// What a launch agent says to the store's host, and what it is answered: any bytes are refused with one line, or become
// what survives writing and reading.
#include "launch/core/c10d/attendance.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](const Error& error) {
    if (error.message.empty() || error.message.find('\n') != std::string::npos) std::abort();
  };
  if (const auto said = parse_attendance(text)) {
    if (!(*parse_attendance(to_json(*said)) == *said)) std::abort();
  } else {
    check(said.error());
  }
  if (const auto news = parse_news(text)) {
    const std::string written = to_json(*news);
    if (to_json(*parse_news(written)) != written) std::abort();
  } else {
    check(news.error());
  }
  return 0;
}
