#include "launch/core/job/endpoint.hpp"

#include "launch/core/base/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::endpoint_test {

using ::testing::HasSubstr;

TEST(Endpoint, ReadsHostsWithAndWithoutAPort) {
  struct Case {
    const char* text;
    EndpointText endpoint;
  };
  const Case cases[] = {
      {"node0", {"node0", std::nullopt}},
      {"node0:29500", {"node0", 29500}},
      {" node_0.example-site:1 ", {"node_0.example-site", 1}},
      {"localhost:0", {"localhost", 0}},
      {"h:00080", {"h", 80}},
      {"10.0.0.1:65535", {"10.0.0.1", 65535}},
      {"::1", {"::1", std::nullopt}},
      {"2001:db8::7", {"2001:db8::7", std::nullopt}},
      {"[::1]", {"::1", std::nullopt}},
      {"[::1]:29500", {"::1", 29500}},
      {"[1:2:3:4:5:6:7:8]:9", {"1:2:3:4:5:6:7:8", 9}},
      {"[::ffff:10.1.2.3]:9", {"::ffff:10.1.2.3", 9}},
      {"[fe80::1%eth0]:9", {"fe80::1%eth0", 9}},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_endpoint(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, c.endpoint) << c.text;
  }
}

TEST(Endpoint, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* words;
  };
  const Case cases[] = {
      {"", "the host is missing"},
      {"  ", "the host is missing"},
      {":29500", "the host before the ':' is missing"},
      {"h:", "the port after the ':' is missing"},
      {"h:99999", "the port 99999 is not a number from 1 to 65535"},
      {"h:65536", "the port 65536 is not a number"},
      {"h:-1", "the port -1 is not a number"},
      {"h:+1", "the port +1 is not a number"},
      {"h:x", "the port x is not a number"},
      {"h:1x", "the port 1x is not a number"},
      {"h:000001", "the port 000001 is not a number"},
      {"h:1:2", "more than one ':'"},
      {"1:2:3", "more than one ':'"},
      {"2001:db8::7:29500", "[ADDRESS]:PORT"},
      {"my host:1", "a host name consists of"},
      {"h/x", "a host name consists of"},
      {"h%eth0", "a host name consists of"},
      {"[::1", "']' after the IPv6 address is missing"},
      {"[h]:1", "in brackets is not an IPv6 address"},
      {"[]:1", "in brackets is not an IPv6 address"},
      {"[::1::2]", "in brackets is not an IPv6 address"},
      {"[1:2:3:4:5:6:7:8:9]", "in brackets is not an IPv6 address"},
      {"[1:2:3:4:5:6:7::8:9]", "in brackets is not an IPv6 address"},
      {"[12345::]", "in brackets is not an IPv6 address"},
      {"[1.2.3.4::]", "in brackets is not an IPv6 address"},
      {"[fe80::1%]", "in brackets is not an IPv6 address"},
      {"[::1]29500", "only :PORT may follow"},
      {"[::1]:", "the port after the ':' is missing"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_endpoint(c.text);
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().code, ErrorCode::usage);
    EXPECT_THAT(parsed.error().message, HasSubstr(c.words)) << c.text;
  }
}

TEST(Endpoint, WritesBracketsAroundIpv6Only) {
  EXPECT_EQ(to_text(Endpoint{"host", 29500}), "host:29500");
  EXPECT_EQ(to_text(Endpoint{"::1", 29500}), "[::1]:29500");
}

TEST(Endpoint, KnowsEveryFormOfLoopback) {
  for (const char* host : {"localhost", "LocalHost", "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1",
                           "::ffff:127.0.0.1", "0::0001"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"", "localhost2", "node0", "128.0.0.1", "127.0.0", "127.0.0.256", "127.0.0.1.example",
                           "::", "::2", "::ffff:10.0.0.1", "1::1", "0.0.0.0"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Endpoint, KnowsAddressesFromNames) {
  for (const char* address : {"127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1%eth0", "::ffff:10.0.0.1"})
    EXPECT_TRUE(is_ip_address(address)) << address;
  for (const char* name : {"", "localhost", "node0", "1.2.3", "1.2.3.4.5", "[::1]", "256.0.0.1", ":"})
    EXPECT_FALSE(is_ip_address(name)) << name;
}

TEST(Endpoint, WhatIsAcceptedSurvivesWritingAndReading) {
  constexpr std::string_view letters = "a1:.[]-_ %0f";
  Random random(7);
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text(random.next() % 12, ' ');
    for (char& c : text) c = letters[random.next() % letters.size()];
    const auto first = parse_endpoint(text);
    if (!first) continue;
    ++accepted;
    const auto second = parse_endpoint(to_text(Endpoint{first->host, first->port.value_or(0)}));
    ASSERT_TRUE(second) << text;
    EXPECT_EQ(second->host, first->host) << text;
    EXPECT_EQ(second->port, first->port.value_or(0)) << text;
  }
  EXPECT_GT(accepted, 250);
}

}  // namespace launch::endpoint_test
