#include "launch/io/host.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch::host_test {

namespace fs = std::filesystem;

std::string make_root(const std::string& name) {
  const std::string root = testing::TempDir() + "host_test_" + std::to_string(::getpid()) + "_" + name;
  fs::remove_all(root);
  fs::create_directories(root);
  return root;
}

std::string make_file(const std::string& path, const std::string& text, mode_t mode = 0644) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

TEST(Host, FindsAProgramOnThePathAsTheShellWould) {
  const std::string root = make_root("path");
  make_file(root + "/a/train", "", 0644);
  make_file(root + "/b/train", "", 0755);
  fs::create_directories(root + "/c/train");
  EXPECT_EQ(find_on_path("train", root + "/c:" + root + "/a:" + root + "/b"), root + "/b/train");
  EXPECT_EQ(find_on_path("train", root + "/a"), std::nullopt);
  EXPECT_EQ(find_on_path("b/train", root), std::nullopt);
  EXPECT_EQ(find_on_path("", root), std::nullopt);
}

TEST(Host, DescribesTheProgramsFile) {
  const std::string root = make_root("program");
  const std::string script = make_file(root + "/run", "#!/usr/bin/env python3\nprint()", 0755);
  const ProgramFacts facts = read_program_facts(script, "");
  EXPECT_TRUE(facts.in_working_directory);
  EXPECT_TRUE(facts.executable);
  EXPECT_EQ(facts.first_bytes.substr(0, 22), "#!/usr/bin/env python3");
  EXPECT_TRUE(read_program_facts(root, "").folder);
  EXPECT_FALSE(read_program_facts(root, "").executable);
  EXPECT_FALSE(read_program_facts(root + "/none", "").in_working_directory);
}

TEST(Host, CountsTheProcessorsThisProcessMayUse) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ::sched_setaffinity(0, sizeof one, &one);
  EXPECT_EQ(read_host_facts(Options(), Environment()).usable_cpus, 1);
  ::sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(read_host_facts(Options(), Environment()).usable_cpus, CPU_COUNT(&before));
}

TEST(Host, TakesThePythonOfTheVirtualEnvironment) {
  const std::string root = make_root("venv");
  make_file(root + "/venv/bin/python", "", 0755);
  make_file(root + "/bin/python", "", 0755);
  const HostFacts facts =
      read_host_facts(Options(), Environment({{"VIRTUAL_ENV", root + "/venv"}, {"PATH", root + "/bin"}}));
  EXPECT_EQ(facts.venv_python, root + "/venv/bin/python");
  EXPECT_EQ(facts.path_python, root + "/bin/python");
}

TEST(Host, FreshIdsDiffer) {
  EXPECT_NE(read_host_facts(Options(), Environment()).fresh_id, read_host_facts(Options(), Environment()).fresh_id);
}

TEST(Host, TheLimitOfOpenFilesIsRaisedAndRemembered) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit lowered{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &lowered);
  EXPECT_EQ(raise_open_files(1000).rlim_cur, 64U);
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace launch::host_test
