#include "launch/core/hosts/host_word.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_word_test {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto word = parse_host_word(text);
  return word ? "none" : word.error().message;
}

TEST(HostWord, PartsOfAWord) {
  struct Case {
    const char* text;
    const char* user;
    std::vector<std::string> names;
    std::optional<int> workers;
    bool counted;
  };
  for (const Case& c : std::vector<Case>{
           {"n1", "", {"n1"}, {}, false},
           {"n[1-3,08]-ib", "", {"n1-ib", "n2-ib", "n3-ib", "n08-ib"}, {}, false},
           {"r[1-2]n[01-02]", "", {"r1n01", "r1n02", "r2n01", "r2n02"}, {}, false},
           {"n[1][2][3][4][5][6][7][8]", "", {"n12345678"}, {}, false},
           {"me@n1", "me", {"n1"}, {}, false},
           {"me.b_c-d@n[1-2]:4", "me.b_c-d", {"n1", "n2"}, 4, true},
           {"n1:*", "", {"n1"}, {}, true},
           {"n1:65536", "", {"n1"}, 65'536, true},
           {"a-b.example.org", "", {"a-b.example.org"}, {}, false},
           {"10.0.0.1:2", "", {"10.0.0.1"}, 2, true},
           {"[fe80::1]", "", {"fe80::1"}, {}, false},
           {"[fd00::2]:4", "", {"fd00::2"}, 4, true},
           {"me@[fe80::1%eth0.5]:*", "me", {"fe80::1%eth0.5"}, {}, true},
           {"[::ffff:10.0.0.1]", "", {"::ffff:10.0.0.1"}, {}, false},
       }) {
    const auto word = parse_host_word(c.text);
    ASSERT_TRUE(word) << c.text << ": " << word.error().message;
    EXPECT_EQ(word->user, c.user) << c.text;
    EXPECT_EQ(word->names, c.names) << c.text;
    EXPECT_EQ(word->workers, c.workers) << c.text;
    EXPECT_EQ(word->counted, c.counted) << c.text;
  }
}

TEST(HostWord, EachErrorSaysWhatIsWrongAndWhatIsRight) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"", "a host has an empty name; name hosts as in n1 or n[1-8]"},
           {":4", "a host has an empty name"},
           {"me@", "a host has an empty name"},
           {"@n1", "in @n1, the name of the user is empty"},
           {"-l@n1", "in -l@n1, -l is not the name of a user"},
           {"a;b@n1",
            R"(a;b is not the name of a user, which has only letters, digits, ".", "_" and "-" and does not)"},
           {"a@b@n1", "in a@b@n1, a@b is not the name of a user"},
           {"-oProxyCommand=x",
            R"(-oProxyCommand=x is not a host name: it begins with "-", and ssh would take it for)"},
           {"n1;reboot", R"(n1;reboot is not a host name, which has only letters, digits, ".", "_" and "-")"},
           {"n1\x01", R"(n1\x01 is not a host name)"},
           {"n\xc3\xa4", "is not a host name"},
           {"$(id)", "$(id) is not a host name"},
           {"n1/2", "n1/2 is not a host name"},
           {"8", "8 is not a host name but a number, which ssh would take for an address; name hosts as in n[1-8]"},
           {"[1-3]", "[1-3] is not a host name but a number"},
           {"n1,n2", "n1,n2 has a comma, where only one host or range may stand"},
           {"n[2-1]", "n[2-1] cannot be read (a range that runs backwards in 2-1); write ranges as in n[1-3,08]"},
           {"n[", "n[ cannot be read (a [ without its ] in n[)"},
           {"n]", "n] cannot be read (a ] without its [ in n])"},
           {"n[]", "n[] cannot be read (no range of numbers in \"\")"},
           {"n[a]", "n[a] cannot be read (no range of numbers in a)"},
           {"n[1-99999]", "n[1-99999] cannot be read (too many hosts in 1-99999)"},
           {"n[1][1][1][1][1][1][1][1][1]", "has more than 8 ranges in brackets; write it as several words"},
           {"n[1, 2]", "\"n[1, 2]\" has a blank after its [; write ranges without blanks and close them with ]"},
           {"bgl[000x133]", "bgl[000x133] has a box of several dimensions (x), which launch does not read"},
           {"n1:", "n1: must have, after its colon, a number of workers from 1 to 65536, or *"},
           {"n1:0", "n1:0 must have, after its colon, a number of workers"},
           {"n1:+1", "n1:+1 must have, after its colon, a number of workers"},
           {"n1:65537", "n1:65537 must have, after its colon, a number of workers"},
           {"n1:x", "n1:x must have, after its colon, a number of workers"},
           {"fe80::1", "fe80::1 has more than one colon; write an IPv6 address in brackets, as [fe80::1]"},
           {"[fe80::g]", "[fe80::g] is not an IPv6 address in brackets, as [fe80::1] is"},
           {"[fe80::1]x", "[fe80::1]x is not an IPv6 address in brackets"},
           {"[fe80::1", "[fe80::1 is not an IPv6 address in brackets"},
           {"[1:2]", "[1:2] is not an IPv6 address in brackets"},
           {"[fe80::1%]", "[fe80::1%] is not an IPv6 address in brackets"},
           {"[fe80::1%$x]", "[fe80::1%$x] is not an IPv6 address in brackets"},
       }) {
    EXPECT_THAT(error_of(c.text), HasSubstr(c.error)) << c.text;
    EXPECT_EQ(error_of(c.text).find('\n'), std::string::npos) << c.text;
  }
  EXPECT_EQ(parse_host_word("").error().code, ErrorCode::usage);
}

TEST(HostWord, NamesHaveAtMost255Bytes) {
  EXPECT_EQ(error_of(std::string(255, 'a')), "none");
  EXPECT_THAT(error_of(std::string(256, 'a')), HasSubstr("a name that is too long"));
  EXPECT_THAT(error_of(std::string(254, 'a') + "[9-10]"), HasSubstr("a name that is too long"));
  EXPECT_THAT(error_of("[::" + std::string(254, '1') + "]"), HasSubstr("is not an IPv6 address"));
  EXPECT_THAT(error_of(std::string(256, 'a') + "@n1"), HasSubstr("is not the name of a user"));
}

TEST(HostWord, PartsKeepWhatFollowsTheColon) {
  EXPECT_EQ(host_word_parts("n[1-2]:0,2").names, "n[1-2]");
  EXPECT_EQ(host_word_parts("n[1-2]:0,2").tail, "0,2");
  EXPECT_EQ(host_word_parts("[fe80::1]:0").names, "[fe80::1]");
  EXPECT_EQ(host_word_parts("[fe80::1]:0").tail, "0");
  EXPECT_EQ(host_word_parts("n1").tail, std::nullopt);
}

TEST(HostWord, CountsAreDigits) {
  EXPECT_EQ(parse_host_count("1", 8), 1);
  EXPECT_EQ(parse_host_count("08", 8), 8);
  for (const char* text : {"", "0", "9", "-1", "+1", " 1", "1 ", "1.0", "99999999999999999999"})
    EXPECT_EQ(parse_host_count(text, 8), std::nullopt) << text;
}

}  // namespace launch::host_word_test
