#include "launch/io/process_list.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/side_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <unistd.h>

namespace launch::process_list_test {

using namespace std::chrono_literals;

const SeenProcess* find(const std::vector<SeenProcess>& all, int pid) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const SeenProcess& one) { return one.pid == pid; });
  return at == all.end() ? nullptr : &*at;
}

TEST(ProcessList, HasThisProcess) {
  const auto all = seen_processes({});
  const SeenProcess* self = find(all, ::getpid());
  ASSERT_NE(self, nullptr);
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_TRUE(self->mine);
  EXPECT_FALSE(self->on_gpu);
  EXPECT_NE(self->command.find("io_tests"), std::string::npos) << self->command;
}

TEST(ProcessList, KnowsTheJobOfAWorker) {
  auto worker = SideProcess::start(
      SideProgram{"/bin/sh", {"sh", "-c", "echo $$; exec sleep 1000"}, {"A=1", "TORCHELASTIC_RUN_ID=job 7", "B=2"}});
  ASSERT_TRUE(worker);
  const int pid = std::stoi(*worker->line(later(now(), 20s)));
  const auto all = seen_processes({pid});
  const SeenProcess* one = find(all, pid);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->run_id, "job 7");
  EXPECT_TRUE(one->on_gpu);
  EXPECT_EQ(one->parent, ::getpid());
}

}  // namespace launch::process_list_test
