#include "launch/core/hosts/host_entry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_entry_test {

using testing::HasSubstr;

// Entries as words: "user@name:workers", with "+" in front of a spare.
std::string hosts(std::string_view text) {
  const auto list = parse_hosts(text);
  if (!list) return "error: " + list.error().message;
  std::string words;
  for (const HostEntry& host : *list) {
    if (!words.empty()) words += ' ';
    if (host.spare) words += '+';
    if (!host.user.empty()) words += host.user + '@';
    words += host.name;
    if (host.workers) words += ':' + std::to_string(*host.workers);
    EXPECT_FALSE(host.port);
    EXPECT_TRUE(host.devices.empty());
  }
  return words;
}

TEST(HostEntry, Lists) {
  struct Case {
    const char* text;
    const char* hosts;
  };
  for (const Case& c : std::vector<Case>{
           {"n1", "n1"},
           {"localhost", "localhost"},
           {"n1,n2", "n1 n2"},
           {"n1 n2\tn3\nn4\r\nn5", "n1 n2 n3 n4 n5"},
           {" n1 , n2\n,n3 \n", "n1 n2 n3"},
           {"n[1-2,5],m", "n1 n2 n5 m"},
           {"n[08-10]", "n08 n09 n10"},
           {"r[1-2]n[1-2]-ib:2", "r1n1-ib:2 r1n2-ib:2 r2n1-ib:2 r2n2-ib:2"},
           {"me@n[1-2]:4,n3:*", "me@n1:4 me@n2:4 n3"},
           {"[fe80::1],me@[fd00::2]:4", "fe80::1 me@fd00::2:4"},
           {"n[1-4],^n3", "n1 n2 n4"},
           {"n[1-4] ^n[2-3]", "n1 n4"},
           {"[fe80::1],n1,^[fe80::1]", "n1"},
           {"n1,n2,^n1,n1", "n2 n1"},
           {"n1,+n2", "n1 +n2"},
           {"+n1,n2,+me@n[3-4]:2", "+n1 n2 +me@n3:2 +me@n4:2"},
           {"a,b,c+1", "a b +c"},
           {"n[1-4]+2", "n1 n2 +n3 +n4"},
           {"n1,n2:4+1", "n1 +n2:4"},
           {"n1 [fe80::1]+1", "n1 +fe80::1"},
           {"a b c +1", "a b +c"},
           {"a,b,c,+2", "a +b +c"},
           {"a,b,c,^c+1", "a +b"},
           {"a,+b,c+1", "a +b +c"},
       })
    EXPECT_EQ(hosts(c.text), c.hosts) << c.text;
}

TEST(HostEntry, EachErrorSaysWhatIsWrongAndWhatIsRight) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"", "no host is named; name them as in n1,n2 or n[1-8]"},
           {" \n", "no host is named"},
           {"+1", "no host is named"},
           {",", "a name is missing in front of the first comma; name a host or remove it"},
           {",n1", "a name is missing in front of the first comma"},
           {"n1,", "a name is missing after the comma that follows n1; name a host or remove the comma"},
           {"n1, ,n2", "a name is missing after the comma that follows n1"},
           {"n1,n2,n1", "n1 is named twice"},
           {"n[1-3],n2:4", "n2 is named twice"},
           {"me@n1,you@n1", "n1 is named twice"},
           {"localhost,localhost", "localhost is named twice"},
           {"n1,^n2", "^n2 takes away n2, which is not named before it"},
           {"^n1,n1", "^n1 takes away n1, which is not named before it"},
           {"n[1-2],^n[2-3]", "^n[2-3] takes away n3, which is not named before it"},
           {"n1,^", "after ^, a host has an empty name"},
           {"n1,^n1:2", "after ^, n1:2 is not a host name"},
           {"n1,^me@n1", "after ^, me@n1 is not a host name"},
           {"n1,^n1", "no host is left, since ^ takes away all that are named"},
           {"a+1,b", "a+1 has a number of spares, which may stand at the end of the list only, as in n1,n2,n3+1"},
           {"+1,b", "+1 has a number of spares, which may stand at the end of the list only"},
           {"a,b+1+1", "b+1 has a number of spares"},
           {"a,b+0", "+0 is not a number of spares for 2 hosts; at least 1 must be a spare and at least 1 must not"},
           {"a,b+2", "+2 is not a number of spares for 2 hosts"},
           {"a,b+99999999999", "+99999999999 is not a number of spares for 2 hosts"},
           {"a+1", "+1 is not a number of spares for 1 host;"},
           {"+a,+b", "all hosts are spares; at least one must stand without +"},
           {"+a,b+1", "all hosts are spares"},
           {"a,+", "a host has an empty name"},
           {"a,++b", "+b is not a host name"},
           {"n1,n[2-1]", "n[2-1] cannot be read (a range that runs backwards in 2-1); write ranges as in n[1-3,08]"},
           {"n1,-oX", "-oX is not a host name: it begins with \"-\", and ssh would take it for an option"},
           {"n1,n[1, 2]", "\"n[1, 2]\" has a blank after its [; write ranges without blanks"},
           {"n1:0", "n1:0 must have, after its colon, a number of workers from 1 to 65536, or *"},
           {"4", "4 is not a host name but a number"},
       }) {
    EXPECT_THAT(hosts(c.text), HasSubstr(std::string("error: ") + c.error)) << c.text;
    EXPECT_EQ(hosts(c.text).find('\n'), std::string::npos) << c.text;
  }
  EXPECT_EQ(parse_hosts("").error().code, ErrorCode::usage);
}

TEST(HostEntry, ManyAreTaken) {
  EXPECT_EQ(parse_hosts("n[1-65536]")->size(), 65'536U);
  EXPECT_EQ(parse_hosts("n[1-65535],m,^m")->size(), 65'535U);
  EXPECT_EQ(hosts("n[1-65536],m"), "error: more than 65536 hosts are named");
  EXPECT_EQ(hosts("n[1-65536],^n[1-65536],m"), "error: more than 65536 hosts are named") << "no work without end";
}

}  // namespace launch::host_entry_test
