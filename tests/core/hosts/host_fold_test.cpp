#include "launch/core/hosts/host_fold.hpp"

#include "launch/core/base/random.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/cluster/host_list.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace launch::host_fold_test {

std::string folded(std::string_view names) {
  std::vector<std::string> hosts;
  for (const std::string_view name : split(names, ',')) hosts.emplace_back(name);
  return fold_hosts(hosts);
}

TEST(HostFold, NamesThatDifferInOneNumberBecomeRanges) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"n1,n2,n3,n5", "n[1-3,5]"},
      {"n3,n1,n2", "n[1-3]"},
      {"login,n1,n2", "login,n[1-2]"},
      {"n1,login,n2", "n[1-2],login"},
      {"n1", "n1"},
      {"localhost", "localhost"},
      {"n1,n1,login,login", "n1,login"},
      {"n08,n09,n10", "n[08-10]"},
      {"n8,n9,n10", "n[8-10]"},
      {"n1,n01,n2,n02", "n[1-2,01-02]"},
      {"n0,n00", "n[0,00]"},
      {"n1.example.org,n2.example.org", "n[1-2].example.org"},
      {"n1.a.org,n2.a.org,n1.b.org,n2.b.org", "n[1-2].a.org,n[1-2].b.org"},
      {"n1-ib0,n2-ib0", "n[1-2]-ib0"},
      {"r1n1,r1n2,r2n1,r2n2", "r1n[1-2],r2n[1-2]"},
      {"r1n1,r2n1,r3n1", "r[1-3]n1"},
      {"10.0.0.1,10.0.0.2,10.0.1.1", "10.0.0.[1-2],10.0.1.1"},
      {"fe80::1,fe80::2", "fe80::[1-2]"},
      {"root@n1,root@n2,n1,n2", "root@n[1-2],n[1-2]"},
      {"u1@n1,u2@n1", "u1@n1,u2@n1"},
      {"n1:2201,n2:2201", "n[1-2]:2201"},
      {"n:2201,n:2202", "n:2201,n:2202"},
      {"1,2,3", "[1-3]"},
      {"n12345678901,n12345678902", "n12345678901,n12345678902"},
      {"n[1,n[2", "n[1,n[2"},
      {"", ""},
  };
  for (const auto& [names, expected] : cases) EXPECT_EQ(folded(names), expected) << names;
  EXPECT_EQ(fold_hosts({}), "");
}

TEST(HostFold, TenThousandHostsAreOneRange) {
  std::vector<std::string> hosts(10'000);
  for (std::size_t number = 0; number < hosts.size(); ++number)
    hosts[number] = fmt::format("rack1-n{:05}.dc2.example.org", number);
  EXPECT_EQ(fold_hosts(hosts), "rack1-n[00000-09999].dc2.example.org");
}

// Few letters and digits, so that many names are alike.
std::string random_name(Random& random) {
  constexpr std::array<std::string_view, 14> parts{"n", "0", "1",  "2",  "9",  "09", "10",
                                                   "-", ".", "a@", ":1", "99", "x",  "100000000"};
  std::string name = random.next() % 2 ? "n" : "";
  for (auto left = 1 + random.next() % 4; left > 0; --left) name += parts[random.next() % parts.size()];
  return name;
}

TEST(HostFold, WhatItWritesIsReadAsTheSameHosts) {
  Random random(7);
  for (int round = 0; round < 3'000; ++round) {
    std::vector<std::string> hosts;
    for (auto left = 1 + random.next() % 40; left > 0; --left) hosts.push_back(random_name(random));
    const std::string text = fold_hosts(hosts);
    const auto read = parse_host_list(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    const std::set<std::string> names(hosts.begin(), hosts.end());
    EXPECT_EQ(std::set<std::string>(read->begin(), read->end()), names) << text;
    EXPECT_EQ(read->size(), names.size()) << text;
  }
}

}  // namespace launch::host_fold_test
