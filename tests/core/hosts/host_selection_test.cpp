#include "launch/core/hosts/host_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_selection_test {

using testing::HasSubstr;

// Entries as words: "name:workers(devices)".
std::string shown_hosts(const Result<std::vector<HostEntry>>& hosts) {
  if (!hosts) return "error: " + hosts.error().message;
  std::string words;
  for (const HostEntry& host : *hosts) {
    if (!words.empty()) words += ' ';
    words += host.name;
    if (host.workers) words += ':' + std::to_string(*host.workers);
    if (host.devices.empty()) continue;
    words += '(';
    for (const int device : host.devices) words += std::to_string(device) + ' ';
    words.back() = ')';
  }
  return words;
}

std::string selected(const char* hosts, const char* include, const char* exclude) {
  return shown_hosts(select_hosts(parse_hosts(hosts).value(), include, exclude));
}

TEST(HostSelection, IncludeAndExclude) {
  struct Case {
    const char* hosts;
    const char* include;
    const char* exclude;
    const char* left;
  };
  for (const Case& c : std::vector<Case>{
           {"n[1-3]", "", "", "n1 n2 n3"},
           {"n[1-3]", "n2", "", "n2"},
           {"n[1-3]", "n3@n1", "", "n1 n3"},
           {"n[1-4]:4", "n1@n[2-3]:0,2", "", "n1:4 n2:2(0 2) n3:2(0 2)"},
           {"n[1-3]", "n2:3,0", "", "n2:2(0 3)"},
           {"n1:4", "n1:3", "", "n1:1(3)"},
           {"n1,[fe80::1]:4", "[fe80::1]:1", "", "fe80::1:1(1)"},
           {"n[1-3]", "", "n2", "n1 n3"},
           {"n[1-4]", "", "n1@n[3-4]", "n2"},
           {"n1,n2:4", "", "n2:0,2", "n1 n2:2(1 3)"},
           {"n1,n2:2", "", "n2:0,1", "n1"},
       })
    EXPECT_EQ(selected(c.hosts, c.include, c.exclude), c.left) << c.hosts << ' ' << c.include << ' ' << c.exclude;
}

TEST(HostSelection, WhatIsNotSelectedKeepsItsValues) {
  const auto hosts =
      select_hosts({{.user = "me", .name = "n1", .port = 22, .workers = 4, .devices = {}, .spare = false},
                    {.user = "", .name = "n2", .port = {}, .workers = {}, .devices = {}, .spare = true}},
                   "n2@n1:1", "");
  ASSERT_TRUE(hosts);
  EXPECT_EQ(hosts->at(0), (HostEntry{"me", "n1", 22, 1, {1}, false}));
  EXPECT_EQ(hosts->at(1), (HostEntry{"", "n2", {}, {}, {}, true}));
}

TEST(HostSelection, EachErrorSaysWhatIsWrongAndWhatIsRight) {
  struct Case {
    const char* hosts;
    const char* include;
    const char* exclude;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"n1", "n1", "n2", "--include n1 and --exclude n2 contradict each other; give only one of them"},
           {"n1", "n2", "", "--include n2: n2 is not in the list of hosts"},
           {"n1", "", "n[1-2]", "--exclude n[1-2]: n2 is not in the list of hosts"},
           {"n1", "n1@n1:0", "", "--include n1@n1:0: n1 is named twice"},
           {"n1:4", "n1:0,4", "", "--include n1:0,4: n1 has no device 4: it has 4 workers, numbered from 0"},
           {"n1:1", "", "n1:1", "--exclude n1:1: n1 has no device 1: it has 1 worker, numbered from 0"},
           {"n1:4", "n1:0,0", "", "--include n1:0,0: device 0 is named twice in n1:0,0"},
           {"n1:4", "n1:", "", "\"\" is not a device in n1:; write the numbers of local devices, as in n1:0,2"},
           {"n1:4", "n1:x", "", "x is not a device in n1:x"},
           {"n1:4", "n1:-1", "", "-1 is not a device in n1:-1"},
           {"n1", "n1:99999999999", "", "99999999999 is not a device in n1:99999999999"},
           {"n1", "", "n1:0",
            "which devices of n1 are left cannot be told without its number of workers; give it, as in n1:8 or "
            "slots=8"},
           {"n[1-2]", "", "n[1-2]", "--exclude n[1-2]: no host is left"},
           {"n1:1", "", "n1:0", "--exclude n1:0: no host is left"},
           {"n1,+n2", "n2", "", "--include n2: only spares are left; at least one other host must stay"},
           {"n1", "@n1", "", "--include @n1: a host has an empty name"},
           {"n1", "n1,n2", "", "n1,n2 has a comma, where only one host or range may stand"},
           {"n1", "n[2-1]", "", "n[2-1] cannot be read (a range that runs backwards in 2-1)"},
       })
    EXPECT_THAT(selected(c.hosts, c.include, c.exclude), HasSubstr(c.error)) << c.include << c.exclude;
  EXPECT_EQ(select_hosts({}, "n1", "").error().code, ErrorCode::usage);
}

}  // namespace launch::host_selection_test
