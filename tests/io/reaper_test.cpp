#include "launch/io/reaper.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/child.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/files.hpp"
#include "launch/io/process_look.hpp"
#include "refusal.hpp"
#include "run.hpp"

#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace launch::reaper_test {

using namespace std::chrono_literals;

// Runs a script as a worker and lets the test look at every change until nothing is left.
class Family : public testing::Test {
 protected:
  static auto make(const std::string& script) {
    SpawnRequest request;
    request.executable = "/bin/sh";
    request.argv = {"sh", "-c", script};
    request.env = {"PATH=/usr/bin:/bin"};
    return spawn(request);
  }

  void start(const std::string& script) { take(make(script)); }

  void take(boost::system::result<Spawned, SpawnError> spawned) {
    ASSERT_TRUE(spawned);
    const pid_t pid = spawned->pid;
    reaper_.add_worker(pid);
    child_ = std::make_unique<Child>(io_.get_executor(), std::move(*spawned));
    child_->on_exit([this, pid](ExitStatus status) {
      reaper_.forget_worker(pid);
      status_ = status;
    });
  }

  // Polls like a SIGCHLD would wake us; a test has no signals of its own.
  bool becomes_true(const std::function<bool()>& condition) {
    boost::asio::steady_timer tick(io_);
    for (int i = 0; i < 2000; ++i) {
      io_.restart();
      tick.expires_after(5ms);
      tick.async_wait([&](const boost::system::error_code&) { io_.stop(); });
      io_.run();
      if (condition()) return true;
    }
    return false;
  }

  bool gone() {
    return becomes_true([this] { return reaper_.collect(); });
  }

  void TearDown() override {
    reaper_.signal_all(SIGKILL);
    EXPECT_TRUE(gone());
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  boost::asio::io_context io_{1};
  Reaper reaper_;
  std::unique_ptr<Child> child_;
  std::optional<ExitStatus> status_;
};

TEST_F(Family, AWorkerOfAnotherThreadIsOurs) {
  DiskThread maker(io_.get_executor());  // ends with the worker, or this one with it
  take(run(io_, maker.run([] { return make("exec sleep 300"); })));
  EXPECT_EQ(list_children(), std::vector<pid_t>{child_->pid()});
  EXPECT_EQ(reaper_.remaining(), std::vector<pid_t>{child_->pid()});
  reaper_.signal_all(SIGTERM);
  EXPECT_TRUE(gone());
  EXPECT_EQ(to_text(*status_), "signal 15 (SIGTERM)");
}

TEST_F(Family, AWorkerOfAnotherThreadIsLeftBesideWhatWasAdopted) {
  DiskThread maker(io_.get_executor());
  take(run(io_, maker.run([] { return make("(setsid sleep 300 &) ; exec sleep 300"); })));
  ASSERT_TRUE(becomes_true([this] { return reaper_.remaining().size() == 2; }));
  EXPECT_EQ(reaper_.remaining().front(), child_->pid());
  reaper_.signal_all(SIGTERM);
  EXPECT_TRUE(gone());
}

TEST_F(Family, AHelperThatAnotherThreadHasMadeIsLeft) {
  DiskThread maker(io_.get_executor());
  const auto helper = run(io_, maker.run([] { return make("exec sleep 300"); }));
  ASSERT_TRUE(helper);
  EXPECT_EQ(reaper_.remaining(), std::vector<pid_t>{helper->pid}) << "though no worker was added";
  reaper_.signal_all(SIGTERM);
  EXPECT_TRUE(gone());
}

TEST_F(Family, AWorkerThatIsAddedLateHearsWhatWasSentToAll) {
  reaper_.signal_all(SIGTERM);
  start("trap 'exit 7' TERM; while :; do sleep 0.01; done");
  EXPECT_TRUE(gone());
  EXPECT_TRUE(status_.has_value());
}

TEST_F(Family, AWorkerWithTheNumberOfAnOldStrangerIsOurs) {
  auto made = make("exec sleep 300");
  ASSERT_TRUE(made);
  const pid_t pid = made->pid;
  reaper_.disregard(pid);
  EXPECT_TRUE(reaper_.remaining().empty());
  reaper_.forget_stranger(pid);
  EXPECT_EQ(reaper_.remaining(), std::vector<pid_t>{pid});
  reaper_.disregard(pid);
  take(std::move(made));
  EXPECT_TRUE(reaper_.signal_one(pid, SIGTERM));
  EXPECT_TRUE(gone());
  EXPECT_EQ(to_text(*status_), "signal 15 (SIGTERM)");
}

TEST_F(Family, WithoutADescriptorChildrenAreFoundAllTheSame) {
  const pid_t tester = ::fork();
  if (tester == 0) {
    Reaper reaper;
    const auto made = make("exec sleep 300");
    if (!made) ::_exit(2);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const bool found = list_children() == std::vector<pid_t>{made->pid} && !reaper.collect();
    reaper.add_worker(made->pid);
    const bool told = reaper.signal_one(made->pid, SIGKILL);
    ::_exit(found && told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(tester, &status, 0), tester);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Family, AWorkerAloneIsGoneWhenItEnds) {
  start("exit 3");
  EXPECT_TRUE(gone());
  EXPECT_EQ(status_, (ExitStatus{ExitStatus::Kind::exited, 3}));
}

TEST_F(Family, WhatAWorkerLeavesBehindIsFoundAndEnded) {
  // It ends when both are in sessions of their own.
  start(
      "d=$(mktemp -d); for i in 1 2; do setsid sh -c \": > $d/$i; exec sleep 100\" & done;"
      "until [ -e $d/1 ] && [ -e $d/2 ]; do sleep 0.01; done; rm -r $d; exit 0");
  ASSERT_TRUE(becomes_true([this] { return status_.has_value() && reaper_.remaining().size() == 2; }));
  EXPECT_FALSE(reaper_.collect());
  reaper_.signal_all(SIGTERM);
  EXPECT_TRUE(gone());
}

TEST_F(Family, TheGroupOfAWorkerEndsWithIt) {
  start("sleep 100 & sleep 100 & exit 0");
  ASSERT_TRUE(becomes_true([this] { return status_.has_value(); }));
  EXPECT_TRUE(gone());
}

TEST_F(Family, ASessionOfItsOwnIsNoWayOut) {
  start("setsid sh -c 'setsid sleep 100 & sleep 100' & sleep 100");
  reaper_.signal_all(SIGKILL);
  EXPECT_TRUE(gone());
}

TEST_F(Family, WhatTurnsUpLaterGetsTheLastSignalToo) {
  // The leader obeys at once; its child in another session only becomes ours then.
  start("setsid sleep 100 & trap 'exit 0' TERM; while :; do sleep 0.01; done");
  ASSERT_TRUE(becomes_true([this] { return !reaper_.remaining().empty(); }));
  reaper_.signal_all(SIGTERM);
  EXPECT_TRUE(gone());
}

// A shell starts what it runs in the background with SIGINT ignored.
TEST_F(Family, AHelperThatIgnoresTheSignalEndsAfterItsWorker) {
  start("sleep 100 & exec sleep 100");
  const std::string path = fmt::format("/proc/{0}/task/{0}/children", child_->pid());
  ASSERT_TRUE(becomes_true([&] { return parse_int(trim(read_file(path, 100))).has_value(); }));
  reaper_.signal_all(SIGINT);
  EXPECT_TRUE(gone());
}

char state_of(pid_t pid) {
  const auto stat = stat_of(pid);
  return stat ? stat->state : '-';
}

TEST_F(Family, AWorkerThatIsStoppedHearsTheSignal) {
  start("kill -STOP $$; exec sleep 100");
  ASSERT_TRUE(becomes_true([this] { return state_of(child_->pid()) == 'T'; }));
  reaper_.signal_all(SIGTERM);
  EXPECT_TRUE(gone());
}

TEST_F(Family, AWorkerOfAStoppedJobBeginsStopped) {
  reaper_.pass_on(SIGTSTP);
  reaper_.begin();
  start("exec sleep 100");
  EXPECT_TRUE(becomes_true([this] { return state_of(child_->pid()) == 'T'; }));
  reaper_.pass_on(SIGCONT);
  EXPECT_TRUE(becomes_true([this] { return state_of(child_->pid()) == 'S'; }));
}

TEST_F(Family, StrangersAreLeftAlone) {
  SpawnRequest request;
  request.executable = "/bin/sleep";
  request.argv = {"sleep", "100"};
  const auto stranger = spawn(request);
  Reaper reaper;
  EXPECT_TRUE(reaper.remaining().empty());
  reaper.signal_all(SIGKILL);
  EXPECT_TRUE(reaper.collect());
  EXPECT_EQ(::waitpid(stranger->pid, nullptr, WNOHANG), 0);
  ::kill(stranger->pid, SIGKILL);
  EXPECT_EQ(::waitpid(stranger->pid, nullptr, 0), stranger->pid);
}

TEST_F(Family, AChildThatIsNotOfTheJobIsLeftAlone) {
  const auto own = make("sleep 100");
  ASSERT_TRUE(own);
  EXPECT_EQ(reaper_.remaining(), std::vector{own->pid});
  reaper_.disregard(own->pid);
  reaper_.signal_all(SIGKILL);
  EXPECT_TRUE(reaper_.collect());
  EXPECT_EQ(::waitpid(own->pid, nullptr, WNOHANG), 0);
  ::kill(own->pid, SIGKILL);
  EXPECT_EQ(::waitpid(own->pid, nullptr, 0), own->pid);
}

TEST_F(Family, OneProcessOfTheJobCanBeSignalled) {
  start("sleep 100 & wait $!; exit 3");
  ASSERT_TRUE(reaper_.signal_one(child_->pid(), 0));
  // The descendant is a child of a child; we learn its pid as it is the only one of the worker's.
  const std::string path = fmt::format("/proc/{0}/task/{0}/children", child_->pid());
  ASSERT_TRUE(becomes_true([&] { return parse_int(read_file(path, 100)).has_value(); }));
  EXPECT_TRUE(reaper_.signal_one(*parse_int(read_file(path, 100)), SIGKILL));
  EXPECT_TRUE(gone());
  EXPECT_EQ(status_, (ExitStatus{ExitStatus::Kind::exited, 3}));
  EXPECT_FALSE(reaper_.signal_one(child_->pid(), 0));
}

// As in containers with an old profile.
TEST(OneProcess, CanBeSignalledThoughPidfdsAreRefused) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    Reaper reaper;
    SpawnRequest request;
    request.executable = "/bin/sleep";
    request.argv = {"sleep", "100"};
    const auto worker = spawn(request);
    reaper.add_worker(worker->pid);
    if (!refuse(SYS_pidfd_open, EPERM)) ::_exit(2);
    const bool sent = reaper.signal_one(worker->pid, SIGKILL);
    ::_exit(sent && !reaper.signal_one(::getppid(), 0) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Family, AProcessOutsideTheJobIsNotSignalled) {
  SpawnRequest request;
  request.executable = "/bin/sleep";
  request.argv = {"sleep", "100"};
  const auto stranger = spawn(request);
  const Reaper reaper;
  for (const pid_t pid : {stranger->pid, ::getpid(), ::getppid(), 1, 0, -1, -stranger->pid})
    EXPECT_FALSE(reaper.signal_one(pid, SIGKILL)) << pid;
  EXPECT_EQ(::waitpid(stranger->pid, nullptr, WNOHANG), 0);
  ::kill(stranger->pid, SIGKILL);
  EXPECT_EQ(::waitpid(stranger->pid, nullptr, 0), stranger->pid);
}

}  // namespace launch::reaper_test
