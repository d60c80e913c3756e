#include "launch/io/worker_start.hpp"

#include "launch/io/files.hpp"
#include "no_threads.hpp"

#include <cerrno>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
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

std::string new_pipe(const std::string& name) {
  std::string path = temp_path(name);
  ::unlink(path.c_str());
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  return path;
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
  // So many that there are helpers; each ends with an exit code of its own.
  WorkerStart& add_many() {
    for (int local_rank = 0; local_rank < 50; ++local_rank) {
      start_->add(shell(local_rank, "exit " + std::to_string(local_rank)));
      many_ends_.push_back(local_rank);
    }
    return *start_;
  }

  boost::asio::io_context context_;
  int told_ = 0;
  std::vector<int> many_ends_;
  std::shared_ptr<SpawnCrew> crew_ = std::make_shared<SpawnCrew>(context_.get_executor());
  std::shared_ptr<WorkerStart> start_ =
      std::make_shared<WorkerStart>(context_.get_executor(), crew_, [this] { ++told_; });
};

TEST_F(AWorkerStart, MakesAllInOrderAndHandsEachOutOnce) {
  for (int local_rank = 0; local_rank < 3; ++local_rank)
    start_->add(shell(local_rank, "exit " + std::to_string(10 + local_rank)));
  EXPECT_FALSE(start_->make_all());
  EXPECT_THAT(ends_of(*start_), ElementsAre(10, 11, 12));
  EXPECT_TRUE(start_->take().empty());
}

TEST_F(AWorkerStart, ConnectsTheStreamsToTheFilesThatAreNamed) {
  WorkerStart::Worker worker = shell(0, "cat; echo wrong >&2");
  worker.in.path = temp_path("in");
  worker.out.path = temp_path("out");
  worker.err.path = temp_path("err");
  ASSERT_TRUE(write_file(worker.in.path, "said\n"));
  start_->add(std::move(worker));
  EXPECT_FALSE(start_->make_all());
  EXPECT_THAT(ends_of(*start_), ElementsAre(0));
  EXPECT_EQ(read_file(temp_path("out"), 100), "said\n");
  EXPECT_EQ(read_file(temp_path("err"), 100), "wrong\n");
}

TEST_F(AWorkerStart, UsesAnOpenDescriptorAndClosesItsOwnCopy) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reader(ends[0]);
  WorkerStart::Worker worker = shell(0, "echo said");
  worker.out.open = Fd(ends[1]);
  start_->add(std::move(worker));
  EXPECT_FALSE(start_->make_all());
  EXPECT_THAT(ends_of(*start_), ElementsAre(0));
  char text[16];
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 5);
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 0) << "a copy of the writing end is still open";
}

TEST_F(AWorkerStart, StopsAtTheFirstWorkerThatCannotBeMade) {
  start_->add(shell(0, "exit 0"));
  WorkerStart::Worker missing = shell(1, "");
  missing.request.executable = temp_path("missing");
  start_->add(std::move(missing));
  start_->add(shell(2, "exit 0"));
  const auto failed = start_->make_all();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->local_rank, LocalRank(1));
  EXPECT_EQ(failed->exit_code, 127);
  EXPECT_THAT(failed->message, HasSubstr("No such file or directory"));
  EXPECT_THAT(ends_of(*start_), ElementsAre(0));
}

TEST_F(AWorkerStart, AFileThatCannotBeOpenedIsTheReason) {
  WorkerStart::Worker worker = shell(0, "exit 0");
  worker.out.path = temp_path("no_folder") + "/out";
  start_->add(std::move(worker));
  const auto failed = start_->make_all();
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->message, HasSubstr("No such file or directory"));
  EXPECT_TRUE(start_->take().empty());
}

TEST_F(AWorkerStart, MakesNoFurtherWorkerOnceItIsStopped) {
  start_->add(shell(0, "exit 0"));
  start_->stop();
  EXPECT_FALSE(start_->make_all());
  EXPECT_TRUE(start_->take().empty());
}

// As on a slow disk, the second worker's file takes a while to open: until the first worker opens its other end.
TEST_F(AWorkerStart, CallsItsOwnerIfItTakesLong) {
  const std::string pipe = new_pipe("pipe");
  start_->add(shell(0, "/bin/sleep 0.1; : > " + pipe + "; exit 8"));
  WorkerStart::Worker slow = shell(1, "exit 7");
  slow.in.path = pipe;
  start_->add(std::move(slow));
  EXPECT_FALSE(start_->make_all());
  context_.run();
  EXPECT_EQ(told_, 1);
  EXPECT_THAT(ends_of(*start_), ElementsAre(8, 7));
}

TEST_F(AWorkerStart, HandsManyOutInOrderWhateverTheOrderInWhichTheyWereMade) {
  EXPECT_FALSE(add_many().make_all());
  EXPECT_EQ(ends_of(*start_), many_ends_);
}

TEST_F(AWorkerStart, EachOfManyHasItsOwnStreams) {
  for (int local_rank = 0; local_rank < 50; ++local_rank) {
    WorkerStart::Worker worker = shell(local_rank, "echo " + std::to_string(local_rank));
    worker.out.path = temp_path("many");
    worker.out.path += std::to_string(local_rank);
    start_->add(std::move(worker));
  }
  EXPECT_FALSE(start_->make_all());
  EXPECT_EQ(ends_of(*start_), std::vector<int>(50, 0));
  for (int local_rank = 0; local_rank < 50; ++local_rank) {
    const std::string path = temp_path("many") + std::to_string(local_rank);
    EXPECT_EQ(read_file(path, 100), std::to_string(local_rank) + "\n");
    ::unlink(path.c_str());
  }
}

// The second worker has a file that opens only when the last one runs.
TEST_F(AWorkerStart, MakesOthersWhileOneTakesLong) {
  const std::string pipe = new_pipe("mutual");
  start_->add(shell(0, "exit 5"));
  WorkerStart::Worker slow = shell(1, "exit 6");
  slow.in.path = pipe;
  start_->add(std::move(slow));
  for (int local_rank = 2; local_rank < 7; ++local_rank) start_->add(shell(local_rank, "exit 7"));
  start_->add(shell(7, ": > " + pipe + "; exit 8"));
  EXPECT_FALSE(start_->make_all());
  EXPECT_THAT(ends_of(*start_), ElementsAre(5, 6, 7, 7, 7, 7, 7, 8));
}

TEST_F(AWorkerStart, NoWorkerRunsThatComesAfterTheOneThatCannotBeMade) {
  const std::string pipe = new_pipe("failing");
  start_->add(shell(0, "exit 5"));
  WorkerStart::Worker missing = shell(1, "");
  missing.request.executable = temp_path("missing");
  missing.in.path = pipe;
  start_->add(std::move(missing));
  start_->add(shell(2, "exec /bin/sleep 1000"));
  start_->add(shell(3, ": > " + pipe + "; exec /bin/sleep 1000"));
  for (int local_rank = 4; local_rank < 9; ++local_rank) start_->add(shell(local_rank, "exec /bin/sleep 1000"));
  const auto failed = start_->make_all();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->local_rank, LocalRank(1));
  EXPECT_THAT(ends_of(*start_), ElementsAre(5));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a worker is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(AWorkerStart, HandsOutThoseBeforeTheOneThatIsStillBeingMade) {
  const std::string slow_input = new_pipe("slow_input");
  const std::string last_runs = new_pipe("last_runs");
  start_->add(shell(0, "exit 5"));
  WorkerStart::Worker slow = shell(1, "exit 6");
  slow.in.path = slow_input;
  start_->add(std::move(slow));
  for (int local_rank = 2; local_rank < 7; ++local_rank) start_->add(shell(local_rank, "exit 7"));
  start_->add(shell(7, ": > " + last_runs + "; exit 8"));
  std::promise<void> all_made, looked;
  const auto maker = std::async(std::launch::async, [&] {
    EXPECT_FALSE(start_->make_all());
    all_made.set_value();
    looked.get_future().wait();  // workers die with the thread that made them
  });
  ASSERT_TRUE(Fd(::open(last_runs.c_str(), O_RDONLY | O_CLOEXEC)).valid());
  EXPECT_THAT(ends_of(*start_), ElementsAre(5));
  const Fd opened(::open(slow_input.c_str(), O_WRONLY | O_CLOEXEC));
  all_made.get_future().wait();
  EXPECT_THAT(ends_of(*start_), ElementsAre(6, 7, 7, 7, 7, 7, 8));
  looked.set_value();
}

TEST_F(AWorkerStart, MakesAllByItselfWhereNoThreadCanBeHad) {
  const NoThreads none;
  EXPECT_FALSE(add_many().make_all());
  EXPECT_EQ(ends_of(*start_), many_ends_);
}

TEST_F(AWorkerStart, DoesNotWaitForAHelperThatHasNotBegun) {
  std::promise<void> free;
  crew_->call(SpawnCrew::size, [until = free.get_future().share()](std::size_t) { until.wait(); });
  EXPECT_FALSE(add_many().make_all());
  EXPECT_EQ(ends_of(*start_), many_ends_);
  start_.reset();
  free.set_value();
}

}  // namespace launch::worker_start_test
