#include "launch/core/hosts/host_notices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_notices_test {

using testing::ElementsAre;
using testing::IsEmpty;

ReadyHost host(const char* name, const char* boot_id, const char* hostname, const char* machine = "x86_64") {
  ReadyHost one{name, {}};
  one.ready.boot_id = boot_id;
  one.ready.hostname = hostname;
  one.ready.machine = machine;
  return one;
}

TEST(HostNotices, NothingIsSaidOfHostsThatAreAlikeButNotTheSame) {
  EXPECT_THAT(notices_on_hosts({}), IsEmpty());
  EXPECT_THAT(notices_on_hosts({host("a", "1", "h")}), IsEmpty());
  EXPECT_THAT(notices_on_hosts({host("a", "1", "h"), host("b", "2", "h")}), IsEmpty()) << "two machines of one name";
  EXPECT_THAT(notices_on_hosts({host("a", "1", "c1"), host("b", "1", "c2")}), IsEmpty()) << "containers of a machine";
  EXPECT_THAT(notices_on_hosts({host("a", "", "h"), host("b", "", "h")}), IsEmpty()) << "nobody knows";
}

TEST(HostNotices, OneMachineUnderSeveralNamesIsSaidOnce) {
  EXPECT_THAT(notices_on_hosts({host("login", "1", "n1"), host("n2", "2", "n2"), host("n1", "1", "n1"),
                                host("me@n3", "3", "n3"), host("n3", "3", "n3")}),
              ElementsAre("login,n1 are the same machine (n1): their workers share its devices",
                          "me@n3,n3 are the same machine (n3): their workers share its devices"));
  std::vector<ReadyHost> many;
  for (int i = 0; i < 40; ++i)
    many.push_back(host(("n" + std::to_string(i)).c_str(), std::to_string(i / 2).c_str(), ""));
  EXPECT_EQ(notices_on_hosts(many).size(), 9U);
  EXPECT_EQ(notices_on_hosts(many).back(), "more hosts are the same machine under several names");
}

TEST(HostNotices, ArchitecturesThatDifferAreNamedWithTheirHosts) {
  EXPECT_THAT(notices_on_hosts({host("n1", "1", "a"), host("n2", "2", "b", "aarch64"), host("n3", "3", "c")}),
              ElementsAre("the hosts have different architectures: n2 is aarch64; n[1,3] are x86_64"));
  EXPECT_THAT(notices_on_hosts({host("n1", "1", "a"), host("n2", "2", "b", "")}), IsEmpty()) << "it was not told";
}

}  // namespace launch::host_notices_test
