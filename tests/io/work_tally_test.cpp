#include "launch/io/work_tally.hpp"

#include "launch/io/files.hpp"

#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace launch::work_tally_test {

TEST(WorkTally, GrowsWithWhatAProcessDoes) {
  const WorkTally before = tally_of(::getpid());
  EXPECT_EQ(std::vector<pid_t>{::getpid()}, before.family);
  EXPECT_FALSE(before.stopped);
  EXPECT_TRUE(before.runnable);
  constexpr std::size_t size = std::size_t{4} << 20;
  auto* const memory =
      static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, memory);
  ::madvise(memory, size, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < size; i += 4096) memory[i] = 1;
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  for (std::size_t got = 0; got < size;) {
    const ssize_t more = ::read(zeros, memory, size);
    ASSERT_GT(more, 0);
    got += static_cast<std::size_t>(more);
  }
  ::close(zeros);
  const WorkTally after = tally_of(::getpid());
  EXPECT_GE(after.faults, before.faults + 1000);
  EXPECT_GE(after.io_bytes, before.io_bytes + size);
  EXPECT_GE(after.cpu_s, before.cpu_s);
  ::munmap(memory, size);
}

TEST(WorkTally, AddsTheSizesOfTheFilesOfItsOutput) {
  const std::string file = testing::TempDir() + "work_tally_test_" + std::to_string(::getpid());
  ASSERT_TRUE(write_file(file, "12345"));
  EXPECT_EQ(5U, size_together({file, "/nowhere"}));
  ::unlink(file.c_str());
}

TEST(WorkTally, NothingIsKnownOfAProcessThatHasEnded) {
  const WorkTally tally = tally_of(0x3ffffffe);
  EXPECT_TRUE(tally.family.empty());
  EXPECT_EQ(0U, tally.io_bytes);
}

TEST(WorkTally, KnowsTheFilesOfAccelerators) {
  for (const char* path : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dri/renderD128", "/dev/accel0"})
    EXPECT_TRUE(is_accelerator_file(path)) << path;
  for (const char* path : {"/dev/null", "/dev/pts/0", "/dev/dri/card0", "/data/dev/nvidia0", "pipe:[1]"})
    EXPECT_FALSE(is_accelerator_file(path)) << path;
}

}  // namespace launch::work_tally_test
