#include "launch/core/job/endpoint_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::endpoint_list_test {

using ::testing::HasSubstr;

TEST(EndpointList, HasSeveralHosts) {
  EXPECT_FALSE(is_endpoint_list(""));
  EXPECT_FALSE(is_endpoint_list("n0:29400"));
  EXPECT_TRUE(is_endpoint_list("n0,n1"));
}

TEST(EndpointList, TheLastPortIsThatOfAllIfNoOtherHostHasOne) {
  struct Case {
    const char* text;
    const char* places;
  };
  const Case cases[] = {
      {"n0,n1,n2:29500", "n0:29500, n1:29500, n2:29500"},
      {"n0:1,n1:2,n2:1", "n0:1, n1:2, n2:1"},
      {"n0,n1", "n0:29400, n1:29400"},
      {" n0 , [::1]:7 ", "n0:7, [::1]:7"},
      {"[fe80::1%eth0],10.0.0.1", "[fe80::1%eth0]:29400, 10.0.0.1:29400"},
      {"n0:1,n0:2", "n0:1, n0:2"},
      {"a,b,c,d,e,f,g,h", "a:29400, b:29400, c:29400, d:29400, e:29400, f:29400, g:29400, h:29400"},
  };
  for (const Case& c : cases) {
    const auto places = parse_endpoint_list(c.text, 29400);
    ASSERT_TRUE(places) << c.text << ": " << places.error().message;
    EXPECT_EQ(to_text(*places), c.places);
  }
}

TEST(EndpointList, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* words;
  };
  const Case cases[] = {
      {"n0,", "a host is missing beside a ','"},
      {"n0,,n1:1", "a host is missing beside a ','"},
      {"n0:1,n1", "some hosts have a port and others have none"},
      {"n0:1,n1,n2:3", "some hosts have a port and others have none"},
      {"n0,n1:0", "port 0"},
      {"n0,n1:99999", "n1:99999: the port 99999 is not a number from 1 to 65535"},
      {"n0,n 1:1", "a host name consists of"},
      {"n0,n1:1:2", "more than one ':'"},
      {"n0,n1,N0:1", "N0:1 is there twice"},
      {"n0:1,n1:1,n0:1", "n0:1 is there twice"},
      {"a,b,c,d,e,f,g,h,i", "9 hosts are too many; name 8 at most"},
  };
  for (const Case& c : cases) {
    const auto places = parse_endpoint_list(c.text, 29400);
    ASSERT_FALSE(places) << c.text;
    EXPECT_EQ(places.error().code, ErrorCode::usage);
    EXPECT_THAT(places.error().message, HasSubstr(c.words)) << c.text;
  }
}

}  // namespace launch::endpoint_list_test
