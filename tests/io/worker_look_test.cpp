#include "launch/io/worker_look.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::worker_look_test {
namespace {

TEST(WorkerLook, SeesProcessorTimeAndMemory) {
  const WorkerSight sight = look_at_worker(::getpid(), {});
  EXPECT_GT(sight.memory_bytes, 1 << 20);
  EXPECT_GE(sight.cpu_s, 0);
  EXPECT_EQ(sight.family.at(0), ::getpid());
  EXPECT_FALSE(sight.has_gpu);
  EXPECT_FALSE(sight.last_line_age_s);
}

TEST(WorkerLook, ReadsTheLastLineOfTheFilesThatWereWritten) {
  const std::string file = testing::TempDir() + "worker_look_test_" + std::to_string(::getpid());
  std::ofstream(file) << "first\n 10%|#   \r 20%|##  \n\n";
  const WorkerSight sight = look_at_worker(::getpid(), {"/nowhere", file});
  EXPECT_EQ("20%|##", sight.last_line);
  ASSERT_TRUE(sight.last_line_age_s);
  EXPECT_LT(*sight.last_line_age_s, 60);
  ::unlink(file.c_str());
}

TEST(WorkerLook, NothingIsKnownOfAProcessThatHasEnded) {
  const WorkerSight sight = look_at_worker(0x3ffffffe, {});
  EXPECT_EQ(0, sight.memory_bytes);
  EXPECT_TRUE(sight.last_line.empty());
}

}  // namespace
}  // namespace launch::worker_look_test
