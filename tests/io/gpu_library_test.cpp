#include "launch/io/gpu_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::gpu_library_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

// Loads the stand-in first: what has the name of a library that is loaded is not loaded again.
// The process that asked is killed and left to whoever wants to wait: here to this one.
void reap_all() {
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

class GpuLibraryTest : public ::testing::Test {
 public:
  GpuLibraryTest() { ::setenv("GPU_STAND_IN", file_.c_str(), 1); }
  ~GpuLibraryTest() override {
    reap_all();
    ::unsetenv("GPU_STAND_IN");
    fs::remove(file_);
    if (stand_in_ != nullptr) ::dlclose(stand_in_);
  }
  GpuLibraryTest(const GpuLibraryTest&) = delete;
  GpuLibraryTest& operator=(const GpuLibraryTest&) = delete;

 protected:
  Result<GpuFacts> read(const std::string& text, Duration limit = 60s) {
    std::ofstream(file_) << text;
    return read_gpus(limit);
  }

  fs::path file_ = fs::path(::testing::TempDir()) / fmt::format("gpus_{}", ::getpid());
  void* stand_in_ = ::dlopen(LAUNCH_GPU_STAND_IN, RTLD_NOW | RTLD_LOCAL);
};

TEST_F(GpuLibraryTest, TellsOfAllGpusAndTheirProcesses) {
  ASSERT_NE(stand_in_, nullptr) << ::dlerror();
  const auto gpus = read("gpu GPU-5a 700 1000 93\nprocess 41 300\nprocess 42 18446744073709551615\ngpu GPU-6b 5 9 0\n");
  ASSERT_TRUE(gpus) << gpus.error().message;
  EXPECT_THAT(*gpus, ElementsAre(GpuFact{"GPU-5a", "A GPU", 700, 1000, 93, {{41, 300}, {42, std::nullopt}}},
                                 GpuFact{"GPU-6b", "A GPU", 5, 9, 0, {}}));
}

TEST_F(GpuLibraryTest, ALibraryThatHangsIsLeftBehind) {
  const auto gpus = read("hang", 50ms);
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, ErrorCode::timeout);
}

TEST_F(GpuLibraryTest, ALibraryThatCrashesHurtsNobody) {
  const auto gpus = read("gpu GPU-5a 700 1000 93\ncrash");
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, ErrorCode::protocol);
}

TEST_F(GpuLibraryTest, WithoutADriverItSaysSo) {
  const auto gpus = read("no-driver");
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, ErrorCode::closed);
  EXPECT_THAT(gpus.error().message, HasSubstr("libnvidia-ml.so.1 finds no driver (error 9)"));
}

TEST(GpuLibrary, WhereItIsMissingItSaysSo) {
  if (void* const real = ::dlopen("libnvidia-ml.so.1", RTLD_NOW); real != nullptr) GTEST_SKIP() << "it is here";
  const auto gpus = read_gpus(60s);
  reap_all();
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, ErrorCode::closed);
  EXPECT_THAT(gpus.error().message, HasSubstr("libnvidia-ml.so.1"));
}

TEST(HaveGpuOpen, LooksAtTheOpenFiles) {
  EXPECT_FALSE(have_gpu_open({::getpid(), 0}));
  EXPECT_FALSE(have_gpu_open({}));
}

}  // namespace launch::gpu_library_test
