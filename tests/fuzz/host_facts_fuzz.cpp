// Whatever text comes as a host's survey, it is refused with one line, or becomes a survey of bounded size that is the
// same when it is written and read again. What nvidia-smi prints is bounded, too.
#include "launch/core/hosts/host_facts.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require(parse_gpu_lines(text).size() <= most_gpu_lines);
  require(parse_gpu_process_lines(text).size() <= most_gpu_process_lines);
  const auto survey = parse_survey(text);
  if (!survey) {
    require(survey.error().code == ErrorCode::protocol && survey.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const std::string json = to_json(*survey);
  require(json.size() <= longest_survey && json.find('\n') == std::string::npos);
  const auto again = parse_survey(json);
  require(again && *again == *survey);
  return 0;
}
