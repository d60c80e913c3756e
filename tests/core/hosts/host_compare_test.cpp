#include "launch/core/hosts/host_compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace launch::host_compare_test {

using enum CheckLevel;
using Rows = std::vector<CheckRow>;

const std::vector<std::string> names{"n1", "n2", "n3", "n4"};

SurveyedHost host_of(int node) {
  SurveyedHost host;
  host.node = node;
  host.boot_id = "boot" + std::to_string(node);
  host.addresses = {"10.0.0." + std::to_string(node)};
  host.survey.machine = "x86_64";
  host.survey.python = {"/usr/bin/python3", "3.11.2", "2.3.0", "CUDA 12.1", ""};
  host.survey.gpus = {{{"NVIDIA H100", "535.1", 100, 100}, {"NVIDIA H100", "535.1", 100, 100}}, 2, "CUDA", ""};
  return host;
}

Rows rows_of(const std::vector<SurveyedHost>& hosts, const std::string& check) {
  Rows rows = compare_hosts(hosts, names);
  std::erase_if(rows, [&](const CheckRow& row) { return row.check != check; });
  return rows;
}

TEST(HostCompare, EqualHostsSayWhatTheyHave) {
  const Rows rows = compare_hosts({host_of(0), host_of(1)}, names);
  EXPECT_EQ(rows.size(), 10U);
  EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), [](const CheckRow& row) { return row.level == ok; }));
  EXPECT_EQ(rows_of({host_of(0)}, "torch"), (Rows{{0, "torch", ok, "2.3.0 for CUDA 12.1"}}));
  EXPECT_EQ(rows_of({host_of(0)}, "gpus"), (Rows{{0, "gpus", ok, "2 x NVIDIA H100"}}));
}

TEST(HostCompare, WhatMostHaveIsRight) {
  std::vector<SurveyedHost> hosts{host_of(0), host_of(1), host_of(2), host_of(3)};
  hosts[0].survey.python.version = "3.9.0";
  hosts[1].survey.gpus.gpus.pop_back();
  hosts[2].survey.python.torch.clear();
  hosts[3].survey.machine = "aarch64";
  hosts[3].survey.gpus.gpus[0].driver = "470.2";
  EXPECT_EQ(rows_of(hosts, "python").front(), (CheckRow{0, "python", warning, "3.9.0; n[2-4] have 3.11.2"}));
  EXPECT_EQ(rows_of(hosts, "gpus")[1],
            (CheckRow{1, "gpus", warning, "1 x NVIDIA H100; n[1,3-4] have 2 x NVIDIA H100"}));
  EXPECT_EQ(rows_of(hosts, "torch")[2].detail, "none; n[1-2,4] have 2.3.0 for CUDA 12.1");
  EXPECT_EQ(rows_of(hosts, "machine")[3].detail, "aarch64; n[1-3] have x86_64");
  EXPECT_EQ(rows_of(hosts, "driver")[3].detail, "470.2; n[1-3] have 535.1");
}

TEST(HostCompare, OfTwoTheFirstIsRight) {
  EXPECT_EQ(compare_values("mtu", {{1, "1500"}, {2, "9000"}}, names),
            (Rows{{1, "mtu", ok, "1500"}, {2, "mtu", warning, "9000; n2 has 1500"}}));
  EXPECT_TRUE(compare_values("mtu", {}, names).empty());
}

TEST(HostCompare, WhatIsNotKnownIsNotCompared) {
  SurveyedHost late = host_of(1);
  late.survey.python = {};
  late.survey.gpus = {};
  late.survey.machine.clear();
  late.survey.unfinished = "python";
  for (const char* check : {"machine", "python", "torch", "gpus", "driver"})
    EXPECT_EQ(rows_of({host_of(0), late}, check).size(), 1U) << check;
  late.survey.unfinished.clear();
  EXPECT_EQ(rows_of({late}, "gpus"), (Rows{{1, "gpus", ok, "none"}}));
  EXPECT_EQ(rows_of({late}, "python"), (Rows{{1, "python", ok, "none"}}));
  late.survey.gpus = {{}, 4, "ROCm", ""};
  EXPECT_EQ(rows_of({late}, "gpus"), (Rows{{1, "gpus", ok, "4 x ROCm"}}));
}

TEST(HostCompare, APythonThatIsMissingIsNamedOnceAsAFault) {
  std::vector<SurveyedHost> hosts{host_of(0), host_of(1), host_of(2)};
  hosts[1].survey.python = {};
  EXPECT_EQ(rows_of(hosts, "python")[1], (CheckRow{1, "python", warning, "none; n[1,3] have 3.11.2"})) << "not needed";
  hosts[1].survey.faults = {{"python", "no Python interpreter"}};
  for (const char* check : {"python", "torch"}) {
    EXPECT_EQ(rows_of(hosts, check).size(), 2U) << check;
    for (const CheckRow& row : rows_of(hosts, check)) EXPECT_NE(row.node, 1);
  }
  hosts[1].survey.faults = {{"folder", "it is not there"}};
  EXPECT_EQ(rows_of(hosts, "python").size(), 3U) << "other faults say nothing of it";
}

TEST(HostCompare, OneMachineUnderTwoNames) {
  std::vector<SurveyedHost> hosts{host_of(0), host_of(1), host_of(2)};
  hosts[1].boot_id = hosts[2].boot_id = hosts[0].boot_id;
  hosts[2].addresses = {"10.9.0.9", "10.0.0.0"};
  const Rows rows = rows_of(hosts, "machine");
  EXPECT_EQ(rows.size(), 4U) << "containers of one machine may be two nodes";
  EXPECT_EQ(rows.back(), (CheckRow{2, "machine", warning, "it is the same machine as n1"}));
  for (SurveyedHost& host : hosts) host.boot_id.clear();
  EXPECT_EQ(rows_of(hosts, "machine").size(), 3U);
}

}  // namespace launch::host_compare_test
