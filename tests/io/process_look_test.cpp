#include "launch/io/process_look.hpp"

#include "launch/io/clock.hpp"

#include <csignal>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::process_look_test {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

// A child that runs `body`, ended with all below it when the test is over.
class Subject {
 public:
  explicit Subject(void (*body)()) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    body();
    while (true) ::pause();
  }
  ~Subject() {
    const std::vector<pid_t> below = descendants_of(pid_);
    ::kill(pid_, SIGKILL);
    for (const pid_t pid : below) ::kill(pid, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

bool becomes(pid_t pid, char state) {
  const Time give_up = later(now(), 20s);
  while (now() < give_up) {
    if (const auto look = look_at(pid); look && look->state == state) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

// Whoever makes a child as vfork() does sleeps uninterruptibly until that executes something or ends. The call itself
// is made, since the thread sanitizer has a vfork() that is a fork().
void get_stuck() {
  if (::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0)
    while (true) ::pause();
}

TEST(LookAt, OneThatSleeps) {
  const Subject subject([] { ::prctl(PR_SET_NAME, "a) S (b"); });
  ASSERT_TRUE(becomes(subject.pid(), 'S'));
  const auto look = look_at(subject.pid());
  ASSERT_TRUE(look);
  EXPECT_EQ(look->pid, subject.pid());
  EXPECT_EQ(look->name, "a) S (b");
  EXPECT_NE(look->wait_channel, "0");
}

TEST(LookAt, OneThatIsStuckInTheKernel) {
  const Subject subject([] {
    ::prctl(PR_SET_NAME, "stuck");
    get_stuck();
  });
  ASSERT_TRUE(becomes(subject.pid(), 'D'));
  EXPECT_THAT(describe_processes({subject.pid()}),
              testing::StartsWith(fmt::format("pid {} (stuck), uninterruptible sleep (D)", subject.pid())));
}

TEST(LookAt, AGlanceTellsTheSameOfOneThatNobodyHolds) {
  const Subject subject([] {});
  ASSERT_TRUE(becomes(subject.pid(), 'S'));
  const auto look = look_at(subject.pid());
  const auto glance = glance_at(subject.pid());
  ASSERT_TRUE(look && glance);
  EXPECT_EQ(to_text(*glance), to_text(*look));
}

TEST(LookAt, OneThatIsGone) {
  pid_t pid = 0;
  {
    const Subject subject([] {});
    pid = subject.pid();
  }
  EXPECT_FALSE(look_at(pid));
  EXPECT_THAT(descendants_of(pid), IsEmpty());
  EXPECT_EQ(name_processes({pid}), fmt::format("pid {}", pid));
}

TEST(LookAt, OneThatNobodyHasCollected) {
  const Subject subject([] { std::_Exit(0); });
  EXPECT_TRUE(becomes(subject.pid(), 'Z'));
}

TEST(DescendantsOf, ChildrenAndTheirChildrenParentsFirst) {
  const Subject subject([] {
    if (::fork() != 0) return;
    ::setsid();
    get_stuck();
  });
  const Time give_up = later(now(), 20s);
  while (descendants_of(subject.pid()).size() < 2 && now() < give_up) ::poll(nullptr, 0, 5);
  const auto below = descendants_of(subject.pid());
  ASSERT_EQ(below.size(), 2U);
  EXPECT_EQ(descendants_of(below[0]), std::vector<pid_t>{below[1]});
  EXPECT_THAT(describe_processes({subject.pid()}), HasSubstr(fmt::format("pid {} ", below[1])));
  EXPECT_THAT(name_processes({subject.pid()}), Not(HasSubstr(fmt::format("{} ", below[1]))));
}

TEST(DescendantsOf, AChildThatAnotherThreadHasMade) {
  const Subject subject([] {
    std::thread([] {
      if (::fork() >= 0)
        while (true) ::pause();
    }).join();
  });
  const Time give_up = later(now(), 20s);
  while (children_of(subject.pid()).empty() && now() < give_up) ::poll(nullptr, 0, 5);
  EXPECT_EQ(children_of(subject.pid()).size(), 1U);
  EXPECT_EQ(descendants_of(subject.pid()), children_of(subject.pid()));
}

TEST(ProcessLook, KnowsWhatAProcessIgnores) {
  const Subject ignoring([] { ::signal(SIGUSR2, SIG_IGN); });
  const Time deadline = later(now(), 10s);
  while (!ignores(ignoring.pid(), SIGUSR2) && now() < deadline) ::sched_yield();
  EXPECT_TRUE(ignores(ignoring.pid(), SIGUSR2));
  EXPECT_FALSE(ignores(ignoring.pid(), SIGUSR1));
  EXPECT_FALSE(catches(ignoring.pid(), SIGUSR2));
}

TEST(ProcessLook, KnowsWhatAProcessCatches) {
  const Subject plain([] {});
  EXPECT_FALSE(catches(plain.pid(), SIGUSR2));
  const Subject catching([] { ::signal(SIGUSR2, [](int) {}); });
  const Time deadline = later(now(), 10s);
  while (!catches(catching.pid(), SIGUSR2) && now() < deadline) ::sched_yield();
  EXPECT_TRUE(catches(catching.pid(), SIGUSR2));
  EXPECT_FALSE(catches(catching.pid(), SIGUSR1));
  for (const int odd : {0, -1, 65, 1000}) EXPECT_FALSE(catches(catching.pid(), odd));
  EXPECT_FALSE(catches(999'999'999, SIGUSR2));
}

TEST(ProcessLook, KnowsPythonByItsFile) {
  EXPECT_FALSE(runs_python(::getpid()));
  EXPECT_FALSE(runs_python(999'999'999));
  const Subject python([] { ::execlp("python3", "python3", "-c", "input()", nullptr); });
  const Time deadline = later(now(), 10s);
  while (!runs_python(python.pid()) && now() < deadline) ::sched_yield();
  EXPECT_TRUE(runs_python(python.pid()));
}

}  // namespace launch::process_look_test
