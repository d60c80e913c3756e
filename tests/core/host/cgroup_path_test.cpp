#include "launch/core/host/cgroup_path.hpp"

#include <gtest/gtest.h>

namespace launch::cgroup_path_test {

constexpr const char* plain =
    "25 30 0:23 / /proc rw - proc proc rw\n"
    "31 30 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(CgroupPath, BelowThePlaceWhereVersion2IsMounted) {
  EXPECT_EQ(cgroup_folder("0::/user.slice/a b\n", plain), "/sys/fs/cgroup/user.slice/a b");
  EXPECT_EQ(cgroup_folder("0::/\n", plain), "/sys/fs/cgroup");
  EXPECT_EQ(cgroup_folder("4:memory:/x\n0::/y\n", "40 30 0:35 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n"),
            "/sys/fs/cgroup/unified/y");
}

TEST(CgroupPath, WhatIsMountedMayBeAPartOnly) {
  const char* const part = "31 30 0:27 /docker/12ab /sys/fs/my\\040cgroup ro - cgroup2 cgroup ro\n";
  EXPECT_EQ(cgroup_folder("0::/docker/12ab\n", part), "/sys/fs/my cgroup");
  EXPECT_EQ(cgroup_folder("0::/docker/12ab/x\n", part), "/sys/fs/my cgroup/x");
  EXPECT_EQ(cgroup_folder("0::/docker/12abc\n", part), std::nullopt);
  EXPECT_EQ(cgroup_folder("0::/elsewhere\n", part), std::nullopt);
}

TEST(CgroupPath, WithoutVersion2ThereIsNone) {
  EXPECT_EQ(cgroup_folder("4:memory:/x\n", plain), std::nullopt);
  EXPECT_EQ(cgroup_folder("0::/x\n", "25 30 0:23 / /proc rw - proc proc rw\n"), std::nullopt);
  EXPECT_EQ(cgroup_folder("0::/../x\n", plain), std::nullopt);
  for (const char* const text : {"", "\n", "rubbish", "0::", " - cgroup2 x", "1 2 3 - cgroup2 x"})
    for (const char* const group : {"", "0::", "0::/x"}) EXPECT_EQ(cgroup_folder(group, text), std::nullopt) << text;
}

TEST(CgroupPath, NamesTellLaunchesApart) {
  EXPECT_EQ(cgroup_prefix(4026531836, 12), "launch-4026531836-12-");
  EXPECT_FALSE(cgroup_prefix(1, 123).starts_with(cgroup_prefix(1, 12)));
}

TEST(CgroupPath, NamesTellTheLaunchThatMadeThem) {
  EXPECT_EQ(cgroup_maker(cgroup_prefix(7, 12) + "0", 7), 12);
  EXPECT_EQ(cgroup_maker(cgroup_prefix(7, 12) + "0", 8), std::nullopt);
  for (const char* const name : {"", "launch", "launch-7-12", "launch-7-x-0", "other-7-12-0", "launch-7-12-0-1"})
    EXPECT_EQ(cgroup_maker(name, 7), std::nullopt) << name;
}

TEST(CgroupPath, WhereNothingIsSaidThereMayBeSomebody) {
  EXPECT_TRUE(is_populated("populated 1\nfrozen 0\n"));
  EXPECT_FALSE(is_populated("populated 0\nfrozen 0\n"));
  EXPECT_TRUE(is_populated(""));
}

}  // namespace launch::cgroup_path_test
