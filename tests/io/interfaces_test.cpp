#include "launch/io/interfaces.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace launch::interfaces_test {

namespace ip = boost::asio::ip;

TEST(Interfaces, TheLoopbackIsOneOfThem) {
  const auto all = interface_addresses();
  const auto found = std::find_if(
      all.begin(), all.end(), [](const InterfaceAddress& one) { return one.address == ip::make_address("127.0.0.1"); });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->interface, "lo");
  EXPECT_TRUE(found->loopback);
  EXPECT_GE(found->mtu, 1280);
  EXPECT_EQ(found->mask, ip::make_address("255.0.0.0"));
}

TEST(Interfaces, OnlyAnAddressOfIPv6CanBeLinkLocal) {
  EXPECT_TRUE(is_link_local(ip::make_address("fe80::1")));
  for (const char* other : {"fd00::1", "::1", "169.254.0.1"})
    EXPECT_FALSE(is_link_local(ip::make_address(other))) << other;
}

}  // namespace launch::interfaces_test
