#include "launch/core/hosts/host_reach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_reach_test {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

const Words addresses{"10.1.2.3", "192.168.0.9", "10.2.0.1", "fd00:1::5", "fe80::1"};
const Words interfaces{"ib0", "eth0", "ib0", "eth0", "eth1"};

struct Network {
  const char* text;
  Words fitting;  // empty: an error
};

TEST(HostReach, AddressesOnANetwork) {
  for (const Network& one : std::vector<Network>{{"", addresses},
                                                 {"10.0.0.0/8", {"10.1.2.3", "10.2.0.1"}},
                                                 {"10.1.0.0/16", {"10.1.2.3"}},
                                                 {"10.1.77.77/16", {"10.1.2.3"}},
                                                 {"10.1.2.2/31", {"10.1.2.3"}},
                                                 {"10.1.2.2/32", {}},
                                                 {"10.1.2.3", {"10.1.2.3"}},
                                                 {"0.0.0.0/0", {"10.1.2.3", "192.168.0.9", "10.2.0.1"}},
                                                 {"fd00:1::/32", {"fd00:1::5"}},
                                                 {"fd00:2::/32", {}},
                                                 {"fd00:2::/28", {"fd00:1::5"}},
                                                 {"::/0", {"fd00:1::5", "fe80::1"}},
                                                 {"ib0", {"10.1.2.3", "10.2.0.1"}},
                                                 {"eth0", {"192.168.0.9", "fd00:1::5"}},
                                                 {"ib", {}},
                                                 {"IB0", {}},
                                                 {"10.1.0.0/33", {}},
                                                 {"10.1.0.0/-1", {}},
                                                 {"10.1.0.0/", {}},
                                                 {"10.1.0.0/x", {}},
                                                 {"fd00::/129", {}},
                                                 {"10.1/16", {}},
                                                 {"/16", {}}}) {
    const auto fitting = on_network(addresses, interfaces, one.text);
    if (one.fitting.empty()) {
      ASSERT_FALSE(fitting) << one.text;
      EXPECT_EQ(fitting.error().code, ErrorCode::usage);
    } else {
      ASSERT_TRUE(fitting) << one.text;
      EXPECT_THAT(*fitting, ElementsAreArray(one.fitting)) << one.text;
    }
  }
}

TEST(HostReach, TheErrorNamesWhatIsThere) {
  EXPECT_EQ(on_network({"10.0.0.1", "fd00::1"}, {"eth0", "ib0"}, "eth9").error().message,
            "nothing there is on the network eth9 (--network); it has eth0 10.0.0.1, ib0 fd00::1");
  EXPECT_EQ(on_network({"10.0.0.1"}, {}, "eth9").error().message,
            "nothing there is on the network eth9 (--network); it has 10.0.0.1");
  EXPECT_THAT(on_network({}, {}, "eth\n9").error().message,
              testing::AllOf(HasSubstr("it has no network"), testing::Not(HasSubstr("\n"))));
}

TEST(HostReach, NoAddressIsANetworkOnlyIfNoneIsNamed) {
  EXPECT_THAT(*on_network({}, {}, ""), IsEmpty());
  EXPECT_THAT(*on_network({"not an address", "10.0.0.1"}, {"a", "b"}, "10.0.0.0/8"), ElementsAre("10.0.0.1"));
}

TEST(HostReach, TheFirstThatAllReach) {
  const Words three{"a", "b", "c"};
  EXPECT_EQ(choose_address(three, {}), "a");
  EXPECT_EQ(choose_address(three, {{"n2", {"", "", ""}}, {"n3", {"", "", ""}}}), "a");
  EXPECT_EQ(choose_address(three, {{"n2", {"", "", ""}}, {"n3", {"refused", "", ""}}}), "b");
  EXPECT_EQ(choose_address(three, {{"n2", {"", "refused", ""}}, {"n3", {"refused", "", ""}}}), "c");
  EXPECT_EQ(choose_address(three, {{"n2", {"", "no", "no"}}, {"n3", {"no", "", "no"}}}), std::nullopt);
  EXPECT_EQ(choose_address({}, {{"n2", {}}}), std::nullopt);
  EXPECT_EQ(choose_address(three, {{"n2", {"no", ""}}}), "b");
  EXPECT_EQ(choose_address(three, {{"n2", {}}}), std::nullopt) << "no answer is no";
  EXPECT_EQ(choose_address({"a"}, {{"n2", {"", "", "", "more"}}}), "a");
}

TEST(HostReach, WhoDoesNotReachWhat) {
  const ReachFacts two{"n1", 29500, {"10.0.0.1", "fd00::1"}};
  EXPECT_THAT(
      explain_reach(
          two,
          {{"n2", {"Connection refused", "no route"}}, {"n4", {"Connection refused", "no route"}}, {"n5", {"", ""}}}),
      ElementsAre(
          "n[2,4] cannot reach node 0 (n1) at 10.0.0.1:29500 (Connection refused) nor [fd00::1]:29500 (no route)",
          "a firewall between the hosts? --network chooses another network, --master-port the port"));
  EXPECT_THAT(explain_reach({"n1", 1, {"10.0.0.1"}}, {{"n2", {}}}).front(), HasSubstr("10.0.0.1:1 (no answer)"));
}

TEST(HostReach, HostsOfDifferentNetworksAreShownByNetwork) {
  NodeReady first;
  first.addresses = {"10.0.0.1", "10.1.0.1", "fd00::1"};
  first.interfaces = {"eth0", "ib0"};
  const ReachFacts facts{"n1", 7, first.addresses, shown_addresses(first.addresses, first)};
  EXPECT_THAT(explain_reach(facts, {{"n2", {"", "no route", "no route"}},
                                    {"n3", {"refused", "", "no route"}},
                                    {"n4", {"no answer", "", "no route"}},
                                    {"n5", {"refused", "refused", "no route"}},
                                    {"n6", {"", "no route", "no route"}}}),
              ElementsAre("n5 cannot reach node 0 (n1) at 10.0.0.1:7 (refused) nor 10.1.0.1:7 (refused) nor "
                          "[fd00::1]:7 (no route)",
                          "no address of node 0 (n1) is reached from all hosts, at port 7:",
                          "eth0 10.0.0.1 is reached from n[2,6]; not from n4 (no answer), n[3,5] (refused)",
                          "ib0 10.1.0.1 is reached from n[3-4]; not from n[2,6] (no route), n5 (refused)",
                          "fd00::1 is reached from no host; not from n[2-6] (no route)",
                          HasSubstr("a firewall between the hosts?")));
}

// Whatever the hosts say: each of them that misses an address is in a line, and the table tells of each of them once.
TEST(HostReach, NoHostIsForgotten) {
  for (unsigned bits = 0; bits < 1U << 9U; ++bits) {
    std::vector<ReachRow> rows;
    for (unsigned host = 0; host < 3; ++host) {
      rows.push_back({"h" + std::string(1, static_cast<char>('a' + host)), {}});
      for (unsigned address = 0; address < 3; ++address)
        rows.back().faults.emplace_back((bits >> (host * 3 + address) & 1U) != 0 ? "no" : "");
    }
    if (choose_address({"A", "B", "C"}, rows)) continue;
    const auto lines = explain_reach({"n1", 7, {"A", "B", "C"}}, rows);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    for (const ReachRow& row : rows)
      if (row.faults != Words{"", "", ""}) EXPECT_THAT(text, HasSubstr(row.host)) << bits;
    for (const std::string& line : lines) {
      if (line.find("; not from ") == std::string::npos) continue;
      for (const ReachRow& row : rows) {
        const auto at = line.find(row.host);
        EXPECT_NE(at, std::string::npos) << line;
        EXPECT_EQ(line.find(row.host, at + 1), std::string::npos) << line;
      }
    }
  }
}

TEST(HostReach, WhatHelpsIsTheLastLine) {
  EXPECT_THAT(explain_reach({"n1", 1, {"a"}}, {{"n2", {"x"}}, {"n3", {"y"}}}).back(), HasSubstr("a firewall"));
}

TEST(HostReach, TextOfOthersIsBoundedAndPlain) {
  const auto lines = explain_reach({"n1", 1, {"10.0.0.1"}}, {{"n2", {std::string(5000, 'x') + "\n\x1b[31m"}}});
  EXPECT_LT(lines.front().size(), 200U);
  const auto plain = explain_reach({"n1", 1, {"10.0.0.1"}}, {{"n2", {"a\nb\x1b"}}});
  EXPECT_EQ(plain.front().find_first_of("\n\x1b"), std::string::npos);
}

TEST(HostReach, WithoutAnAddressThatIsSaid) {
  EXPECT_THAT(explain_reach({"n1", 1}, {{"n2", {}}}), ElementsAre("n1 (node 0) has no network that others could use"));
}

TEST(HostReach, EachHostThatMissesAnAddressIsAProblem) {
  const auto problems =
      reach_problems({"n1", 7, {"10.0.0.1"}}, {{"n2", {"refused"}}, {"n3", {""}}, {"n4", {"refused"}}});
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].host, "n2");
  EXPECT_EQ(problems[0].reason, "cannot reach node 0 (n1) at 10.0.0.1:7 (refused)");
  EXPECT_EQ(problems[1].host, "n4");
  EXPECT_EQ(reach_problems({"n1", 7}, {{"n2", {}}}).at(0).host, "n1");
}

}  // namespace launch::host_reach_test
