#include "launch/io/kernel_probe.hpp"

#include "refusal.hpp"

#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::kernel_probe_test {

bool lacks(KernelPart part) {
  const std::vector<KernelLack> found = kernel_lacks();
  return std::any_of(found.begin(), found.end(), [part](const KernelLack& lack) { return lack.part == part; });
}

// In a process of its own: whether `part` is missing if the call is refused, and was not missing before.
bool noticed(unsigned call, unsigned error, KernelPart part) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool before = lacks(part);
    ::_exit(refuse(call, error) && lacks(part) && !before ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(KernelProbe, SeesWhatIsRefused) {
  for (const unsigned error : {ENOSYS, EPERM}) {
    EXPECT_TRUE(noticed(SYS_pidfd_open, error, KernelPart::pidfd_open)) << error;
    EXPECT_TRUE(noticed(SYS_pidfd_send_signal, error, KernelPart::pidfd_send_signal)) << error;
    EXPECT_TRUE(noticed(SYS_close_range, error, KernelPart::close_range)) << error;
  }
}

// Before Linux 5.11 the flag is not known.
TEST(KernelProbe, SeesAnOldCloseRange) { EXPECT_TRUE(noticed(SYS_close_range, EINVAL, KernelPart::close_range)); }

#if defined(__x86_64__)
TEST(KernelProbe, SeesThatNoChildStartsInAGroup) {
  if (lacks(KernelPart::worker_group)) GTEST_SKIP() << "no control group may be made here";
  for (const unsigned error : {ENOSYS, EPERM, E2BIG})  // the last one before Linux 5.7
    EXPECT_TRUE(noticed(SYS_clone3, error, KernelPart::clone_into_group)) << error;
}
#endif

TEST(KernelProbe, MakesNoProcess) {
  (void)kernel_lacks();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace launch::kernel_probe_test
