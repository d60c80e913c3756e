#include "launch/core/host/kernel_lack.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

// What it is, and what follows if it is not there.
std::pair<std::string_view, std::string_view> words_of(KernelPart part) {
  switch (part) {
    case KernelPart::worker_group:
      return {"no control group for the workers",
              "what they leave behind is found process by process, and not ended at one instant"};
    case KernelPart::clone_into_group:
      return {"no clone3() into a control group",
              "what workers leave behind is found process by process, and not ended at one instant"};
    case KernelPart::pidfd_open:
      return {"no pidfd_open()", "the end of a worker may be seen up to 50 ms later"};
    case KernelPart::pidfd_send_signal:
      return {"no pidfd_send_signal()", "a process is signalled by its number alone"};
    case KernelPart::close_range:
      return {"no close_range()", "workers start a little later"};
  }
  return {"something", "launch does without it"};
}

}  // namespace

std::string to_text(const KernelLack& lack) {
  const auto [what, follows] = words_of(lack.part);
  return fmt::format("this system gives launch {} ({}): {}", what, lack.reason, follows);
}

}  // namespace launch
