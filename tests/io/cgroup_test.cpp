#include "launch/io/cgroup.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/spawn.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::cgroup_test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// A folder of plain files, as the kernel has it where a test is no administrator.
class PlainFolder : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(top_.data()), nullptr); }
  void TearDown() override { fs::remove_all(top_); }

  std::string top_ = testing::TempDir() + "cgroup_XXXXXX";
};

TEST_F(PlainFolder, WithoutTheFileThatKillsThereIsNoGroup) {
  WorkerCgroup group(top_);
  EXPECT_EQ(group.descriptor(), -1);
  EXPECT_EQ(group.folder(), "");
  EXPECT_TRUE(group.empty());
  group.end_all();
  EXPECT_FALSE(group.killed());
  EXPECT_TRUE(fs::is_empty(top_));
}

TEST_F(PlainFolder, WhereThereIsNoFolderThereIsNoGroup) {
  EXPECT_EQ(WorkerCgroup("").descriptor(), -1);
  EXPECT_EQ(WorkerCgroup(top_ + "/missing").descriptor(), -1);
  EXPECT_EQ(WorkerCgroup("/proc").descriptor(), -1);
}

TEST_F(PlainFolder, TheGroupsOfADeadLaunchAreEndedAndThoseOfOthersAreNot) {
  struct stat info {};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &info), 0);
  const std::string mine = top_ + "/launch-" + std::to_string(info.st_ino) + "-12-0";
  const std::string empty = top_ + "/launch-" + std::to_string(info.st_ino) + "-12-1";
  const std::string other = top_ + "/launch-" + std::to_string(info.st_ino) + "-123-0";
  for (const std::string& folder : {mine, empty, other}) fs::create_directories(folder + "/below");
  for (const std::string& folder : {mine, other}) std::ofstream(folder + "/cgroup.kill") << "0";
  end_cgroups_of(12, top_);
  EXPECT_EQ(read_file(mine + "/cgroup.kill", 10), "1");
  EXPECT_EQ(read_file(other + "/cgroup.kill", 10), "0");
  EXPECT_FALSE(fs::exists(empty));
  EXPECT_TRUE(fs::exists(other + "/below"));
}

TEST_F(PlainFolder, TheNextLaunchEndsTheGroupsOfThoseThatAreGone) {
  struct stat info {};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &info), 0);
  const std::string start = top_ + "/launch-" + std::to_string(info.st_ino) + "-";
  const std::string dead = start + "999999999-0", living = start + "1-0", foreign = top_ + "/launch-1-999999999-0";
  for (const std::string& folder : {dead, living, foreign}) fs::create_directories(folder);
  const WorkerCgroup group(top_);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(living));
  EXPECT_TRUE(fs::exists(foreign));
}

Spawned start_in(const WorkerCgroup& group, const std::string& script) {
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", script};
  request.env = {"PATH=/usr/bin:/bin"};
  request.cgroup = group.descriptor();
  auto spawned = spawn(request);
  EXPECT_TRUE(spawned);
  return spawned ? std::move(*spawned) : Spawned{};
}

bool empties(const WorkerCgroup& group) {
  const Time give_up = later(now(), 20s);
  while (!group.empty() && now() < give_up) ::poll(nullptr, 0, 5);
  return group.empty();
}

// In the group of this process: the real thing where this machine lets us, and otherwise the proof that all goes on
// without.
TEST(WorkerCgroup, WorkersBeginInItAndEndWithIt) {
  WorkerCgroup group;
  const Spawned worker = start_in(group, "setsid sleep 300 & exec sleep 300");
  const std::string text = read_file("/proc/" + std::to_string(worker.pid) + "/cgroup", 16384);
  if (group.folder().empty()) {
    EXPECT_EQ(text, read_file("/proc/self/cgroup", 16384));
    ::kill(-worker.pid, SIGKILL);
    EXPECT_EQ(::waitpid(worker.pid, nullptr, 0), worker.pid);
    return;
  }
  EXPECT_THAT(text, testing::HasSubstr(fs::path(group.folder()).filename().string() + "\n"));
  EXPECT_FALSE(group.empty());
  EXPECT_FALSE(group.killed());
  group.end_all();
  EXPECT_TRUE(group.killed());
  int status = 0;
  EXPECT_EQ(::waitpid(worker.pid, &status, 0), worker.pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(empties(group));
}

TEST(WorkerCgroup, IsRemovedWithWhatWorkersMadeInIt) {
  std::string folder;
  {
    const WorkerCgroup group;
    folder = group.folder();
    if (!folder.empty()) fs::create_directories(folder + "/a/b");
  }
  EXPECT_FALSE(!folder.empty() && fs::exists(folder));
}

TEST(WorkerCgroup, AnotherIsMadeBesideOneThatWasKilled) {
  const WorkerCgroup first;
  const WorkerCgroup second(&first);
  EXPECT_EQ(second.folder().empty(), first.folder().empty());
  if (first.folder().empty()) return;
  EXPECT_NE(second.folder(), first.folder());
  EXPECT_EQ(fs::path(second.folder()).parent_path(), fs::path(first.folder()).parent_path());
}

// A group to make groups in, where no other launch of this machine tidies up. Without a name if groups cannot be had.
class OwnGroup {
 public:
  OwnGroup() {
    const WorkerCgroup group;
    if (group.folder().empty()) return;
    folder_ = fs::path(group.folder()).parent_path().string() + "/of-a-test-" + std::to_string(::getpid());
    fs::create_directory(folder_);
  }
  ~OwnGroup() {
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  const std::string& folder() const { return folder_; }
  std::size_t inside() const {
    if (folder_.empty()) return 0;
    const auto is_group = [](const fs::directory_entry& entry) { return entry.is_directory(); };
    return std::ranges::count_if(fs::directory_iterator(folder_), is_group);
  }

 private:
  std::string folder_;
};

TEST(WorkerCgroup, ThoseOfADeadLaunchAreRemoved) {
  const OwnGroup own;
  const pid_t dead = ::fork();
  if (dead == 0) {
    const WorkerCgroup group(own.folder());
    (void)start_in(group, "exec sleep 300");
    std::_Exit(0);
  }
  EXPECT_EQ(::waitpid(dead, nullptr, 0), dead);
  EXPECT_EQ(own.inside(), own.folder().empty() ? 0U : 1U);
  const Time give_up = later(now(), 20s);
  do {
    end_cgroups_of(dead, own.folder());
  } while (own.inside() > 0 && now() < give_up);
  EXPECT_EQ(own.inside(), 0U);
}

TEST(WorkerCgroup, ADescriptorThatIsNoGroupKeepsNobodyFromStarting) {
  const Fd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  SpawnRequest request;
  request.executable = "/bin/sh";
  request.argv = {"sh", "-c", "exit 7"};
  request.cgroup = folder.get();
  const auto spawned = spawn(request);
  ASSERT_TRUE(spawned);
  int status = 0;
  EXPECT_EQ(::waitpid(spawned->pid, &status, 0), spawned->pid);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace launch::cgroup_test
