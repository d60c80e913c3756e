#include "launch/io/kernel_probe.hpp"

#include "launch/io/cgroup.hpp"
#include "launch/io/fd.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

namespace launch {
namespace {

// The reason; nullopt: it is there. -1 is no group, so nothing is made: a kernel that knows the member finds that out,
// an older one finds an argument that is too long.
std::optional<std::string> refuses_clone_into_group() {
#if defined(__x86_64__)
  std::array<std::uint64_t, 11> request{0x200000000};  // CLONE_INTO_CGROUP
  request.back() = ~std::uint64_t{0};                  // the group
  ::syscall(SYS_clone3, request.data(), sizeof request);
  if (errno != EINVAL && errno != EBADF) return std::strerror(errno == E2BIG ? ENOSYS : errno);
#endif
  return std::nullopt;
}

std::optional<std::string> refuses_pidfd_open() {
  const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return self.valid() ? std::nullopt : std::optional<std::string>(std::strerror(errno));
}

std::optional<std::string> refuses_pidfd_send_signal() {
  ::syscall(SYS_pidfd_send_signal, -1, 0, nullptr, 0);
  return errno == EBADF ? std::nullopt : std::optional<std::string>(std::strerror(errno));
}

// No descriptor has such a number.
std::optional<std::string> refuses_close_range() {
  constexpr unsigned none = ~0U;
  constexpr unsigned on_exec = 4;  // CLOSE_RANGE_CLOEXEC
  if (::syscall(SYS_close_range, none, none, on_exec) == 0) return std::nullopt;
  return std::strerror(errno == EINVAL ? ENOSYS : errno);  // it is there, but without the flag
}

}  // namespace

std::vector<KernelLack> kernel_lacks() {
  std::vector<KernelLack> result;
  const auto note = [&result](KernelPart part, const std::optional<std::string>& reason) {
    if (reason) result.push_back({part, *reason});
  };
  const auto group = reason_against_group();
  note(KernelPart::worker_group, group);
  if (!group) note(KernelPart::clone_into_group, refuses_clone_into_group());
  note(KernelPart::pidfd_open, refuses_pidfd_open());
  note(KernelPart::pidfd_send_signal, refuses_pidfd_send_signal());
  note(KernelPart::close_range, refuses_close_range());
  return result;
}

}  // namespace launch
