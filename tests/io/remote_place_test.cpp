#include "launch/io/remote_place.hpp"

#include "launch/io/files.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::remote_place_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr int skipped = 77;

// In a process of its own, since it changes what all of a process shares. 0: nothing was wrong.
int apart(const std::function<void()>& check) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    check();
    std::cout.flush();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class RemotePlaces : public testing::Test {
 public:
  RemotePlaces() : folder_(fs::canonical(testing::TempDir()).string() + "/remote_place_" + std::to_string(::getpid())) {
    fs::create_directories(folder_);
  }
  ~RemotePlaces() override { fs::remove_all(folder_); }

 protected:
  std::string folder_;
};

TEST_F(RemotePlaces, AFolderIsEntered) {
  EXPECT_EQ(apart([this] {
              const Status entered = enter_folder(folder_, 027);
              ASSERT_TRUE(entered) << entered.error().message;
              EXPECT_EQ(current_folder(""), folder_);
              EXPECT_EQ(current_folder(folder_ + "/."), folder_ + "/.") << "a name that leads there counts";
              EXPECT_EQ(current_folder("/"), folder_);
              EXPECT_EQ(current_umask(), 027);
              EXPECT_EQ(current_umask(), 027) << "to look does not change it";
              std::ofstream("made") << "here";
              struct stat info {};
              ASSERT_EQ(::stat((folder_ + "/made").c_str(), &info), 0);
              EXPECT_EQ(info.st_mode & 0777U, 0640U);
            }),
            0);
}

TEST_F(RemotePlaces, AFolderThatIsNotThereIsAnErrorThatSaysWhatToDo) {
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_EQ(apart([this] {
              for (const char* name : {"/none", "/file", "/file/below"}) {
                const Status entered = enter_folder(folder_ + name, 022);
                ASSERT_FALSE(entered);
                EXPECT_EQ(entered.error().code, ErrorCode::usage);
                EXPECT_EQ(entered.error().message,
                          "the folder " + folder_ + name + " is not there; start this in one that all hosts share");
              }
            }),
            0);
}

TEST_F(RemotePlaces, AFolderThatThisUserMayNotWorkInIsAnError) {
  if (::geteuid() != 0) GTEST_SKIP() << "it takes root to be another user";
  fs::create_directories(folder_ + "/closed");
  fs::permissions(folder_ + "/closed", fs::perms::owner_all);
  EXPECT_EQ(apart([this] {
              ASSERT_EQ(::setgid(65534), 0);
              ASSERT_EQ(::setuid(65534), 0);
              const Status entered = enter_folder(folder_ + "/closed", 022);
              ASSERT_FALSE(entered);
              EXPECT_EQ(entered.error().message, "cannot work in " + folder_ + "/closed: Permission denied");
            }),
            0);
}

TEST_F(RemotePlaces, TheMachineHasAnIdentityWithoutTheEndOfALine) {
  EXPECT_EQ(boot_id().size(), 36U);
  EXPECT_EQ(boot_id().find_first_not_of("0123456789abcdef-"), std::string::npos) << boot_id();
  EXPECT_EQ(boot_id(), boot_id());
}

TEST_F(RemotePlaces, TheHostHasItsName) {
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size()), 0);
  EXPECT_EQ(own_hostname(), name.data());
}

TEST_F(RemotePlaces, TheHostMayHaveTheLongestName) {
  const std::string longest(64, 'h');
  const int result = apart([&] {
    if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(longest.data(), longest.size()) != 0) ::_exit(skipped);
    EXPECT_EQ(own_hostname(), longest);
  });
  if (result == skipped) GTEST_SKIP() << "it takes root to name a host";
  EXPECT_EQ(result, 0);
}

TEST_F(RemotePlaces, ThisProgramKnowsItsFile) {
  EXPECT_EQ(self_path(), fs::read_symlink("/proc/self/exe"));
  EXPECT_EQ(::access(self_path().c_str(), X_OK), 0);
}

TEST_F(RemotePlaces, TheAddressesAreThoseThatOthersMayReach) {
  for (const NamedAddress& one : own_addresses()) {
    EXPECT_NE(::if_nametoindex(one.interface.c_str()), 0U) << one.interface;
    std::array<unsigned char, 16> bytes{};
    const bool v4 = ::inet_pton(AF_INET, one.address.c_str(), bytes.data()) == 1;
    EXPECT_TRUE(v4 || ::inet_pton(AF_INET6, one.address.c_str(), bytes.data()) == 1) << one.address;
    EXPECT_FALSE(v4 && bytes[0] == 127) << one.address;
    EXPECT_NE(one.address, "::1");
    EXPECT_THAT(one.address, testing::Not(StartsWith("fe80")));
  }
}

std::vector<std::string> as_texts() {
  std::vector<std::string> texts;
  for (const NamedAddress& one : own_addresses()) texts.push_back(one.interface + " " + one.address);
  return texts;
}

TEST_F(RemotePlaces, TheAddressesAreThoseOfAllInterfacesThatAreUp) {
  const int result = apart([] {
    if (::unshare(CLONE_NEWNET) != 0 ||
        std::system("exec 2>/dev/null; make() { ip link add $1 type dummy || ip link add $1 type bridge; }; "
                    "ip link set lo up && make one && ip link set one up && ip addr add 10.1.2.3/24 dev one && "
                    "ip addr add 10.9.9.9/24 dev one && make two && ip addr add 10.5.5.5/24 dev two") != 0)
      ::_exit(skipped);
    EXPECT_THAT(as_texts(), UnorderedElementsAre("one 10.1.2.3", "one 10.9.9.9"));
    if (std::system("exec 2>/dev/null; ip -6 addr add fe80::7/64 dev one nodad && "
                    "ip -6 addr add fd00::7/64 dev one nodad") == 0) {
      EXPECT_THAT(as_texts(), UnorderedElementsAre("one 10.1.2.3", "one 10.9.9.9", "one fd00::7"));
    }
    EXPECT_EQ(std::system("ip link set one down; ip link set two up"), 0);
    EXPECT_THAT(as_texts(), ElementsAre("two 10.5.5.5"));
    EXPECT_EQ(std::system("ip link set two down"), 0);
    EXPECT_THAT(as_texts(), IsEmpty());
  });
  if (result == skipped) GTEST_SKIP() << "it takes root, and a kernel with such interfaces, to make a network";
  EXPECT_EQ(result, 0);
}

TEST_F(RemotePlaces, AFileInMemoryIsWrittenByItsPath) {
  const MemoryFile file;
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(file.text(100), "");
  ASSERT_TRUE(write_file(file.path(), "the report\n"));
  EXPECT_EQ(file.text(100), "the report\n");
  EXPECT_EQ(file.text(100), "the report\n") << "as often as one likes";
  EXPECT_EQ(file.text(3), "the");
  ASSERT_TRUE(write_file(file.path(), "new\n"));
  EXPECT_EQ(file.text(100), "new\n");
  const std::string large(1'000'000, 'x');
  ASSERT_TRUE(write_file(file.path(), large));
  EXPECT_TRUE(file.text(large.size()) == large);
}

TEST_F(RemotePlaces, AFileInMemoryIsOpenToOtherProcessesAndGoesWithItsOwner) {
  std::string path;
  {
    const MemoryFile file, other;
    path = file.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(std::system(("echo word >" + path).c_str()), 0);
    EXPECT_EQ(file.text(100), "word\n");
    EXPECT_EQ(other.text(100), "");
    EXPECT_NE(::fcntl(std::stoi(path.substr(path.rfind('/') + 1)), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_FALSE(fs::exists(path));
}

// With another folder for what is temporary.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& folder) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_F(RemotePlaces, APrivateFolderIsNewAndForThisUserOnly) {
  const TemporaryFolder here(folder_);
  const std::string one = make_private_folder("launch-"), other = make_private_folder("launch-");
  EXPECT_NE(one, other);
  for (const std::string& made : {one, other}) {
    EXPECT_THAT(made, StartsWith(folder_ + "/launch-"));
    struct stat info {};
    ASSERT_EQ(::stat(made.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0700U);
    EXPECT_EQ(info.st_uid, ::geteuid());
    EXPECT_TRUE(fs::is_empty(made));
  }
}

TEST_F(RemotePlaces, APrivateFolderThatCannotBeMadeIsNone) {
  const TemporaryFolder here("/proc");
  EXPECT_EQ(make_private_folder("launch-"), "");
}

TEST_F(RemotePlaces, APrivateFolderIsElsewhereIfTheOneForSuchFoldersIsMissing) {
  const TemporaryFolder here(folder_ + "/none");
  const std::string made = make_private_folder("launch-");
  EXPECT_THAT(made, StartsWith("/tmp/launch-"));
  remove_folder(made);
}

TEST_F(RemotePlaces, WhereNoFileCanBeKeptIsKnown) {
  {
    const TemporaryFolder here(folder_);
    EXPECT_TRUE(may_keep_files());
    EXPECT_TRUE(fs::is_empty(folder_)) << "nothing is left of the try";
  }
  const TemporaryFolder here("/proc");
  const Status may = may_keep_files();
  ASSERT_FALSE(may);
  EXPECT_THAT(may.error().message, StartsWith("the workers' output cannot be kept in /proc: "));
  EXPECT_THAT(may.error().message, testing::HasSubstr("TMPDIR"));
}

TEST_F(RemotePlaces, AFolderIsRemovedWithAllThatIsInIt) {
  const std::string made = folder_ + "/made";
  fs::create_directories(made + "/a/b");
  std::ofstream(made + "/a/b/file") << "x";
  std::ofstream(folder_ + "/outside") << "x";
  fs::create_symlink(folder_ + "/outside", made + "/link");
  fs::create_directory_symlink(folder_, made + "/up");
  remove_folder(made);
  EXPECT_FALSE(fs::exists(made));
  EXPECT_TRUE(fs::exists(folder_ + "/outside")) << "where a link leads nothing is removed";
}

TEST_F(RemotePlaces, NothingIsRemovedWhereThereIsNothing) {
  remove_folder(folder_ + "/none");
  EXPECT_EQ(apart([this] {
              ASSERT_TRUE(enter_folder(folder_, 022));
              std::ofstream("stays") << "x";
              remove_folder("");
              EXPECT_TRUE(fs::exists(folder_ + "/stays"));
            }),
            0);
}

TEST(RemotePlace, TheMachineIsNamedAsUnameNamesIt) {
  EXPECT_FALSE(machine().empty());
  EXPECT_EQ(std::system(("test \"$(uname -m)\" = " + machine()).c_str()), 0);
}

TEST(RemotePlace, TheInterfaceThatLeadsToAnOwnAddressIsTheOneThatHasIt) {
  const std::vector<NamedAddress> own_ones = own_addresses();
  for (const NamedAddress& one : own_ones) EXPECT_EQ(interface_towards(one.address, own_ones), one.interface);
  EXPECT_EQ(interface_towards("no address", own_ones), "");
  EXPECT_EQ(interface_towards("127.0.0.1", own_ones), "") << "the loopback leads to nobody else";
}

}  // namespace launch::remote_place_test
