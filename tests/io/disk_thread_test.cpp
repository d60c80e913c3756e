#include "launch/io/disk_thread.hpp"

#include "launch/io/clock.hpp"
#include "no_threads.hpp"
#include "run.hpp"

#include <csignal>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::disk_thread_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class Disk : public testing::Test {
 protected:
  template <class Work>
  auto run_here(Work work) {
    return run(io_, disk_.run(std::move(work)));
  }

  // A job that ends when the promise says so.
  std::function<bool()> stalled() {
    return [until = until_] { return until.wait(), true; };
  }

  // What is stalled ends before the context does: its result goes there.
  void TearDown() override {
    if (!let_go_) thaw();
    EXPECT_TRUE(run_here([] { return true; }));
  }

  void thaw() {
    let_go_ = true;
    thaw_.set_value();
  }

  asio::io_context io_{1};
  std::promise<void> thaw_;
  std::shared_future<void> until_ = thaw_.get_future().share();
  bool let_go_ = false;
  DiskThread disk_{io_.get_executor()};
};

TEST_F(Disk, GivesWhatTheWorkReturns) {
  EXPECT_EQ("result", run_here([] { return std::string("result"); }));
}

TEST_F(Disk, TakesWhatCanOnlyBeMoved) {
  const auto result = run_here([] { return std::make_unique<int>(7); });
  EXPECT_EQ(7, *result);
}

TEST_F(Disk, IsOneThreadAndAnother) {
  const auto self = [] { return ::gettid(); };
  const pid_t first = run_here(self);
  EXPECT_NE(::gettid(), first);
  EXPECT_EQ(first, run_here(self));
}

TEST_F(Disk, HearsNoSignal) {
  const auto blocked = [] {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1 && sigismember(&mask, SIGRTMAX) == 1;
  };
  EXPECT_TRUE(run_here(blocked));
  sigset_t own;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(0, sigismember(&own, SIGTERM));
}

TEST_F(Disk, DoesOneJobAfterTheOther) {
  std::vector<int> done;  // by that thread alone
  const auto note = [&done](int number) { return [&done, number] { return done.push_back(number), true; }; };
  EXPECT_FALSE(run(io_, disk_.run_until(now(), stalled())));
  for (const int number : {1, 2}) EXPECT_FALSE(run(io_, disk_.run_until(now(), note(number))));
  thaw();
  EXPECT_TRUE(run_here(note(3)));
  EXPECT_EQ((std::vector<int>{1, 2, 3}), done);
}

TEST_F(Disk, IsNotWaitedForLongerThanAsked) {
  const Time before = now();
  EXPECT_FALSE(run(io_, disk_.run_until(later(now(), 20ms), stalled())));
  EXPECT_GE(now() - before, 20ms);
}

TEST_F(Disk, LetsOthersGoOnMeanwhile) {
  const auto waits_for_us = stalled();
  asio::post(io_, [this] { thaw(); });
  EXPECT_TRUE(run_here(waits_for_us));
}

TEST_F(Disk, LetsGoOfWhatAJobOwnedBeforeItsResultIsThere) {
  const auto owned = std::make_shared<int>();
  const std::weak_ptr<int> known = owned;
  auto work = [mine = owned] { return mine.use_count() > 0; };
  EXPECT_TRUE(run_here(std::move(work)));
  EXPECT_EQ(1, known.use_count());
}

TEST_F(Disk, DropsAtItsEndWhatHasNotBegun) {
  const auto owned = std::make_shared<int>();
  {
    DiskThread other(io_.get_executor());
    EXPECT_FALSE(run(io_, other.run_until(now(), stalled())));
    EXPECT_FALSE(run(io_, other.run_until(now(), [owned] { return owned != nullptr; })));
    EXPECT_EQ(2, owned.use_count());
  }
  EXPECT_EQ(1, owned.use_count());
}

// The executor may be gone by then.
TEST_F(Disk, WhatIsDoneAfterItsEndIsToldToNobody) {
  const auto owned = std::make_shared<int>();
  {
    DiskThread other(io_.get_executor());
    EXPECT_FALSE(run(io_, other.run_until(now(), [until = until_, owned] { return until.wait(), owned != nullptr; })));
  }
  io_.restart();
  io_.poll();  // what is left of the waiting
  thaw();
  io_.restart();
  const Time give_up = later(now(), 20s);
  while (owned.use_count() > 1 && now() < give_up) std::this_thread::yield();  // it is about to tell its result
  EXPECT_EQ(1, owned.use_count());
  std::size_t told = 0;
  for (const Time end = later(now(), 20ms); now() < end;) told += io_.poll();
  EXPECT_EQ(0U, told);
}

TEST_F(Disk, DoesItItselfWhereNoThreadCanBeHad) {
  const NoThreads none;
  EXPECT_EQ(::gettid(), run_here([] { return ::gettid(); }));
  let_go_ = true;
}

}  // namespace launch::disk_thread_test
