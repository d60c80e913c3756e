#include "launch/core/hosts/check_table.hpp"

#include <gtest/gtest.h>

namespace launch::check_table_test {

using Lines = std::vector<std::string>;
using enum CheckLevel;

const Lines names{"n1", "n2", "n3", "n4"};

const std::vector<CheckRow> some_rows{
    {0, "login", ok, "it answers"},
    {1, "login", ok, "it answers"},
    {2, "login", fault, "no answer on port 22"},
    {3, "login", ok, "it answers"},
    {0, "python", ok, "3.11.2"},
    {1, "python", ok, "3.11.2"},
    {3, "python", warning, "3.9.0, the others have 3.11.2"},
    {1, "clock", warning, "30 s ahead"},
    {0, "folder", fault, "it is not there"},
};

TEST(CheckTable, HostsWithEqualRowsShareALineAndTheWorstComesFirst) {
  EXPECT_EQ(check_table(some_rows, names), (Lines{
                                               "fault    n3        login   no answer on port 22",
                                               "fault    n1        folder  it is not there",
                                               "warning  n4        python  3.9.0, the others have 3.11.2",
                                               "warning  n2        clock   30 s ahead",
                                               "ok       n[1-2,4]  login   it answers",
                                               "ok       n[1-2]    python  3.11.2",
                                           }));
}

TEST(CheckTable, ALongListOfHostsDoesNotPushTheOthersAway) {
  const Lines long_names{"a.very.long.name.of.a.host.example", "b"};
  EXPECT_EQ(check_table({{0, "shm", ok, "x"}, {1, "shm", ok, "y"}}, long_names),
            (Lines{"ok       a.very.long.name.of.a.host.example  shm  x", "ok       b  shm  y"}));
  EXPECT_EQ(check_table({{-1, "clock", ok, "x"}}, long_names), (Lines{"ok       this host  clock  x"}));
  EXPECT_EQ(check_table({{0, "other", ok, "x"}, {0, "network", ok, "y"}}, {"n1"}),
            (Lines{"ok       n1  network  y", "ok       n1  other    x"}));
  EXPECT_TRUE(check_table({}, long_names).empty());
}

TEST(CheckTable, LinesForPrograms) {
  const auto lines = check_lines(some_rows, names);
  ASSERT_EQ(lines.size(), some_rows.size());
  EXPECT_EQ(lines[0], R"({"host":"n1","check":"login","ok":true,"level":"ok","detail":"it answers"})");
  EXPECT_EQ(lines[2], R"({"host":"n1","check":"folder","ok":false,"level":"fault","detail":"it is not there"})");
  EXPECT_EQ(lines[7], R"({"host":"n4","check":"login","ok":true,"level":"ok","detail":"it answers"})");
  EXPECT_EQ(check_lines({{0, "job", fault, "a\xff\""}}, names)[0].find("\xff"), std::string::npos);
}

TEST(CheckTable, OnlyAFaultMakesTheJobFail) {
  const auto verdict = [](CheckLevel first, CheckLevel second) {
    return verdict_of({{0, "a", first, ""}, {2, "b", second, ""}, {2, "c", second, ""}}, names);
  };
  EXPECT_EQ(verdict(ok, ok).exit_code, 0);
  EXPECT_EQ(verdict(ok, ok).line, "The job would start on 4 hosts.");
  EXPECT_EQ(verdict(ok, warning).exit_code, 0);
  EXPECT_EQ(verdict(ok, warning).line, "The job would start on 4 hosts; look at the warnings of n3.");
  EXPECT_EQ(verdict(warning, fault).exit_code, 1);
  EXPECT_EQ(verdict(warning, fault).line, "The job would fail: something is wrong on n3.");
}

}  // namespace launch::check_table_test
