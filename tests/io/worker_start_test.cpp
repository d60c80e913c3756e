#include "launch/io/worker_start.hpp"

#include "launch/io/files.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

namespace launch::worker_start_test {

using testing::ElementsAre;
using testing::HasSubstr;

WorkerStart::Worker shell(int local_rank, const std::string& script) {
  WorkerStart::Worker worker;
  worker.local_rank = LocalRank(local_rank);
  worker.request.executable = "/bin/sh";
  worker.request.argv = {"sh", "-c", script};
  return worker;
}

std::string temp_path(const std::string& name) {
  return testing::TempDir() + "worker_start_test_" + std::to_string(::getpid()) + "_" + name;
}

std::vector<int> ends_of(WorkerStart& start) {
  std::vector<int> ends;
  for (const WorkerStart::Made& made : start.take()) {
    int status = 0;
    ::waitpid(made.spawned.pid, &status, 0);
    ends.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return ends;
}

class AWorkerStart : public testing::Test {
 protected:
  boost::asio::io_context context_;
  int told_ = 0;
  WorkerStart start_{context_.get_executor(), [this] { ++told_; }};
};

TEST_F(AWorkerStart, MakesAllInOrderAndHandsEachOutOnce) {
  for (int local_rank = 0; local_rank < 3; ++local_rank)
    start_.add(shell(local_rank, "exit " + std::to_string(10 + local_rank)));
  EXPECT_FALSE(start_.make_all());
  EXPECT_THAT(ends_of(start_), ElementsAre(10, 11, 12));
  EXPECT_TRUE(start_.take().empty());
}

TEST_F(AWorkerStart, ConnectsTheStreamsToTheFilesThatAreNamed) {
  WorkerStart::Worker worker = shell(0, "cat; echo wrong >&2");
  worker.in.path = temp_path("in");
  worker.out.path = temp_path("out");
  worker.err.path = temp_path("err");
  ASSERT_TRUE(write_file(worker.in.path, "said\n"));
  start_.add(std::move(worker));
  EXPECT_FALSE(start_.make_all());
  EXPECT_THAT(ends_of(start_), ElementsAre(0));
  EXPECT_EQ(read_file(temp_path("out"), 100), "said\n");
  EXPECT_EQ(read_file(temp_path("err"), 100), "wrong\n");
}

TEST_F(AWorkerStart, UsesAnOpenDescriptorAndClosesItsOwnCopy) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reader(ends[0]);
  WorkerStart::Worker worker = shell(0, "echo said");
  worker.out.open = Fd(ends[1]);
  start_.add(std::move(worker));
  EXPECT_FALSE(start_.make_all());
  EXPECT_THAT(ends_of(start_), ElementsAre(0));
  char text[16];
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 5);
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 0) << "a copy of the writing end is still open";
}

TEST_F(AWorkerStart, StopsAtTheFirstWorkerThatCannotBeMade) {
  start_.add(shell(0, "exit 0"));
  WorkerStart::Worker missing = shell(1, "");
  missing.request.executable = temp_path("missing");
  start_.add(std::move(missing));
  start_.add(shell(2, "exit 0"));
  const auto failed = start_.make_all();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->local_rank, LocalRank(1));
  EXPECT_EQ(failed->exit_code, 127);
  EXPECT_THAT(failed->message, HasSubstr("No such file or directory"));
  EXPECT_THAT(ends_of(start_), ElementsAre(0));
}

TEST_F(AWorkerStart, AFileThatCannotBeOpenedIsTheReason) {
  WorkerStart::Worker worker = shell(0, "exit 0");
  worker.out.path = temp_path("no_folder") + "/out";
  start_.add(std::move(worker));
  const auto failed = start_.make_all();
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->message, HasSubstr("No such file or directory"));
  EXPECT_TRUE(start_.take().empty());
}

TEST_F(AWorkerStart, MakesNoFurtherWorkerOnceItIsStopped) {
  start_.add(shell(0, "exit 0"));
  start_.stop();
  EXPECT_FALSE(start_.make_all());
  EXPECT_TRUE(start_.take().empty());
}

// As on a slow disk, the second worker's file takes a while to open: until the first worker opens its other end.
TEST_F(AWorkerStart, CallsItsOwnerIfItTakesLong) {
  const std::string pipe = temp_path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  start_.add(shell(0, "/bin/sleep 0.1; : > " + pipe + "; exit 8"));
  WorkerStart::Worker slow = shell(1, "exit 7");
  slow.in.path = pipe;
  start_.add(std::move(slow));
  EXPECT_FALSE(start_.make_all());
  context_.run();
  EXPECT_EQ(told_, 1);
  EXPECT_THAT(ends_of(start_), ElementsAre(8, 7));
}

}  // namespace launch::worker_start_test
