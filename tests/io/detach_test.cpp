#include "launch/io/detach.hpp"

#include "launch/io/files.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::detach_test {

class Detaches : public testing::Test {
 protected:
  Detaches() { folder_ = ::mkdtemp(name_.data()); }
  ~Detaches() override { std::filesystem::remove_all(folder_); }

  // The background says something, and begins or ends.
  Result<Detached> detach_and(bool begin) {
    auto detached = detach(folder_ + "/log");
    if (!detached || detached->start) return detached;
    write_all(STDERR_FILENO, ::getsid(0) == ::getpid() ? "own session\n" : "the same session\n");
    char nothing = 0;
    write_all(STDOUT_FILENO, ::read(STDIN_FILENO, &nothing, 1) == 0 ? "no input\n" : "input\n");
    if (begin) say_begun(detached->begun);
    if (begin) ::pause();
    ::_exit(7);
  }

  std::string name_ = testing::TempDir() + "detach-XXXXXX";
  std::string folder_;
};

TEST_F(Detaches, ItComesBackWhenTheBackgroundHasBegun) {
  const auto detached = detach_and(true);
  ASSERT_TRUE(detached && detached->start);
  EXPECT_TRUE(detached->start->begun);
  EXPECT_EQ(read_file(folder_ + "/log", 100), "own session\nno input\n");
  ASSERT_EQ(::kill(detached->start->pid, SIGTERM), 0) << "it goes on";
  int status = 0;
  EXPECT_EQ(::waitpid(detached->start->pid, &status, 0), detached->start->pid);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Detaches, ItComesBackWithAllThatWasSaidIfTheBackgroundEndsBefore) {
  ASSERT_TRUE(write_file(folder_ + "/log", "older\n"));
  const auto detached = detach_and(false);
  ASSERT_TRUE(detached && detached->start);
  EXPECT_FALSE(detached->start->begun);
  EXPECT_EQ(detached->start->exit_code, 7);
  EXPECT_EQ(detached->start->said, "own session\nno input\n");
  EXPECT_EQ(read_file(folder_ + "/log", 100), "older\nown session\nno input\n");
}

TEST_F(Detaches, WithoutAFileThereIsOneProcess) {
  EXPECT_EQ(detach(folder_ + "/none/log").error().message, "No such file or directory");
}

// What a shell hands down, such as the pipe of a step of CI, and what is our own.
TEST_F(Detaches, OnlyWhatIsOursStaysOpen) {
  std::array<int, 2> inherited{};
  std::array<int, 2> ours{};
  ASSERT_EQ(::pipe2(inherited.data(), 0), 0);
  ASSERT_EQ(::pipe2(ours.data(), O_CLOEXEC), 0);
  const auto detached = detach(folder_ + "/log");
  if (detached && !detached->start) {
    const bool closed = ::fcntl(inherited[0], F_GETFD) < 0 && ::fcntl(inherited[1], F_GETFD) < 0;
    ::_exit(closed && ::fcntl(ours[0], F_GETFD) >= 0 ? 0 : 1);
  }
  ASSERT_TRUE(detached);
  EXPECT_EQ(detached->start->exit_code, 0);
  EXPECT_THAT(detached->start->said, testing::HasSubstr("nothing was started (exit code 0)"));
  for (const int fd : {inherited[0], inherited[1], ours[0], ours[1]}) ::close(fd);
}

}  // namespace launch::detach_test
