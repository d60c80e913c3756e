#include "launch/io/driver_log.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::driver_log_test {

using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

class DriverLogTest : public ::testing::Test {
 protected:
  DriverLogTest() {
    fs::create_directories(root_ / "dev");
    put("dev/kmsg", "");
    put("dev/nvidiactl", "");
  }
  ~DriverLogTest() override { fs::remove_all(root_); }
  DriverLogTest(const DriverLogTest&) = delete;
  DriverLogTest& operator=(const DriverLogTest&) = delete;

  void put(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void report(int number, pid_t pid) {
    std::ofstream(root_ / "dev/kmsg", std::ios::app)
        << fmt::format("4,1,5,-;NVRM: Xid (PCI:0000:3b:00): {}, pid={}, name=python, said\n", number, pid);
  }
  std::vector<int> numbers() const {
    std::vector<int> result;
    for (const Xid& xid : log_->read()) result.push_back(xid.number);
    return result;
  }

  fs::path root_ = fs::path(::testing::TempDir()) / fmt::format("driver_log_{}", ::getpid());
  std::unique_ptr<DriverLog> log_ = std::make_unique<DriverLog>(root_.string());
};

TEST_F(DriverLogTest, OnlyWhatIsReportedSinceTheBeginCounts) {
  report(31, 0);
  log_->begin();
  ASSERT_TRUE(log_->open());
  EXPECT_THAT(numbers(), IsEmpty());
  report(79, 0);
  report(45, 0);
  EXPECT_EQ(numbers(), (std::vector{79, 45}));
  log_->begin();
  EXPECT_THAT(numbers(), IsEmpty());
}

TEST_F(DriverLogTest, WithoutTheDriverOrTheLogThereIsNothing) {
  for (const char* missing : {"dev/nvidiactl", "dev/kmsg"}) {
    fs::remove(root_ / missing);
    log_->begin();
    EXPECT_FALSE(log_->open()) << missing;
    EXPECT_THAT(log_->read(), IsEmpty()) << missing;
    put("dev/nvidiactl", "");
  }
}

TEST_F(DriverLogTest, AnotherJobsProcessIsLeftOut) {
  log_->begin();
  report(1, ::getppid());  // it runs, and does not descend from this one
  report(2, ::getpid());
  const auto found = numbers();
  EXPECT_EQ(found.back(), 2);
  const auto own = log_->read();
  EXPECT_THAT(own, IsEmpty()) << "it has been read";
  if (found.size() == 2) GTEST_SKIP() << "in a container the host's pids are not known";
  EXPECT_THAT(found, SizeIs(1));
}

TEST_F(DriverLogTest, AGpuThatMayNotBeOpenedIsLeftOut) {
  log_->begin();
  put("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: \t\t H100\nDevice Minor: \t 4\n");
  report(79, 0);
  EXPECT_THAT(numbers(), IsEmpty());
  put("dev/nvidia4", "");
  report(79, 0);
  EXPECT_EQ(numbers(), std::vector{79});
}

TEST(KernelLogTime, GoesOnAsTheKernelDoes) {
  const Time before = kernel_log_time();
  EXPECT_LE(before, kernel_log_time());
  EXPECT_GT(before.time_since_epoch().count(), 0);
}

TEST(DriverLog, TheKernelsOwnLogHoldsNothingUp) {
  DriverLog log;
  log.begin();
  EXPECT_THAT(log.read(), IsEmpty());
}

}  // namespace launch::driver_log_test
