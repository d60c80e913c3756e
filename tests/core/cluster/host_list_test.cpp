#include "launch/core/cluster/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_list_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> hosts(std::string_view text) {
  auto list = parse_host_list(text);
  return list ? *list : std::vector<std::string>{"error: " + list.error().message};
}

TEST(HostList, NamesAndRanges) {
  EXPECT_THAT(hosts("n1"), ElementsAre("n1"));
  EXPECT_THAT(hosts("n1,login"), ElementsAre("n1", "login"));
  EXPECT_THAT(hosts("n[1-3]"), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(hosts("n[1,3],m[7]"), ElementsAre("n1", "n3", "m7"));
  EXPECT_THAT(hosts("n[08-10]"), ElementsAre("n08", "n09", "n10")) << "as wide as the first";
  EXPECT_THAT(hosts("n[8-010]"), ElementsAre("n8", "n9", "n10"));
  EXPECT_THAT(hosts("n[1-2]-ib"), ElementsAre("n1-ib", "n2-ib"));
  EXPECT_THAT(hosts("r[1-2]n[01-02]"), ElementsAre("r1n01", "r1n02", "r2n01", "r2n02"));
}

TEST(HostList, WhatIsNoListIsOneLine) {
  for (const char* text : {"", ",", "n1,", ",n1", "n[", "n]", "n[]", "n[1-]", "n[-1]", "n[a]", "n[2-1]", "n[1",
                           "n[[1]]", "n1 n2", "n[1-2]]", "n[+1]", "n[1-99999]", "n[1-300]m[1-300]", "n[99999999999]"}) {
    const auto list = parse_host_list(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().message.find('\n'), std::string::npos) << text;
  }
  EXPECT_THAT(parse_host_list("n[2-1]").error().message, HasSubstr("a range that runs backwards in 2-1"));
}

TEST(HostList, ManyAreTaken) { EXPECT_EQ(hosts("n[1-65536]").size(), 65536U); }

}  // namespace launch::host_list_test
