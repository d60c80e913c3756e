#include "launch/core/cluster/reach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::reach_test {

TEST(Reach, IsReadAsItWasWritten) {
  const Reach reach{"n1", {"10.0.0.1", "fe80::1"}, 61'003};
  EXPECT_EQ(to_text(reach), "61003/n1/10.0.0.1,fe80::1");
  EXPECT_EQ(parse_reach(to_text(reach)), reach);
  const Reach many{"n1", std::vector<std::string>(100, std::string(60, '1')), 1};
  EXPECT_LT(to_text(many).size(), 1'000U) << "as many as a server takes";
  for (const char* text : {"", "x", "0/n1/", "65536/n1/", "1//", "1/n1", "1/n1/a/b", "-1/n1/"})
    EXPECT_FALSE(parse_reach(text)) << text;
}

TEST(Reach, TheNameIsTakenIfItLeadsThereElseAnAddressNearby) {
  Reach reach{"n1", {"172.17.0.1", "10.0.0.1", "192.168.7.1"}, 1};
  EXPECT_EQ(choose_host(reach, {{}, {"10.0.0.1"}, {}}), "n1");
  EXPECT_EQ(choose_host(reach, {{"172.17.0.1", "10.0.0.2"}, {"127.0.1.1"}, {"172.17.0.1", "10.0.0.1"}}), "10.0.0.1")
      << "a bridge of containers has the same address everywhere";
  EXPECT_EQ(choose_host(reach, {{"172.17.0.1"}, {}, {}}), "10.0.0.1");
  EXPECT_EQ(choose_host(reach, {reach.addresses, {}, reach.addresses}), "172.17.0.1") << "on the same host";
  EXPECT_EQ(choose_host({"n1", {}, 1}, {}), "n1");
}

}  // namespace launch::reach_test
