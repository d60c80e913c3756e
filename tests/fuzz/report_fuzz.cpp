// What other nodes and workers write about a failure becomes a verdict that is bounded and safe to show.
#include "launch/core/base/number_ranges.hpp"
#include "launch/core/verdict/failure_report.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Verdict verdict{"train.py", "none", 4, 0, {}, {}, ""};
  if (auto failure = parse_failure(text)) {
    if (parse_failure(to_json(*failure))->exit_code != failure->exit_code) std::abort();
    verdict.first = *std::move(failure);
  }
  verdict.first.detail = error_message(text);
  error_traceback(text);
  error_for_parent(verdict.first, text);
  if (const auto account = parse_account(text)) {
    if (*parse_account(to_json(*account)) != *account) std::abort();
    merge(verdict.account, *account);
    merge(verdict.account, *account);
  }
  from_ranges(text);
  const std::string screen = render_verdict(verdict);
  const auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == '\x7f'; };
  if (std::any_of(screen.begin(), screen.end(), is_control)) std::abort();
  if (std::count(screen.begin(), screen.end(), '\n') > 100 || screen.size() > 100'000) std::abort();
  verdict_json(verdict);
  return 0;
}
