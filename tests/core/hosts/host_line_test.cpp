#include "launch/core/hosts/host_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_line_test {

using testing::ElementsAre;
using testing::HasSubstr;

HostLine line_of(std::string_view text) {
  auto line = parse_host_line(text);
  EXPECT_TRUE(line && *line) << text << ": " << (line ? "nothing" : line.error().message);
  return line && *line ? **line : HostLine{};
}

TEST(HostLine, BlankLinesAndCommentsAreNothing) {
  for (const char* text : {"", "  \t", "\r", "# n1 slots=4", "   #"}) {
    const auto line = parse_host_line(text);
    ASSERT_TRUE(line) << text;
    EXPECT_FALSE(*line) << text;
  }
}

TEST(HostLine, Dialects) {
  struct Case {
    const char* text;
    const char* user;
    std::optional<int> port;
    std::optional<int> workers;
    HostCount count;
  };
  using enum HostCount;
  for (const Case& c : std::vector<Case>{
           {"n1", "", {}, {}, none},
           {"  n1\r", "", {}, {}, none},
           {"n1 # the first", "", {}, {}, none},
           {"n1#the first", "", {}, {}, none},
           {"n1 slots=4 max_slots=8", "", {}, 4, written},
           {"n1 slots=4 max-slots=8", "", {}, 4, written},
           {"n1 max_slots=8", "", {}, {}, none},
           {"n1 slots = 4", "", {}, 4, written},
           {"n1 slots= 4 port =22", "", 22, 4, written},
           {"n1 count=4", "", {}, 4, written},
           {"n1 cpu=4", "", {}, 4, written},
           {"n1 cpus=4", "", {}, 4, written},
           {"me@n1 port=2222", "me", 2222, {}, none},
           {"n1 username=me", "me", {}, {}, none},
           {"me@n1 user=me slots=2", "me", {}, 2, written},
           {"n1:8 binding=user:0,2 user=me", "me", {}, 8, written},
           {"n1:*", "", {}, {}, written},
           {"n1 8 all.q@n1 UNDEFINED", "", {}, 8, queued},
           {"n1 8 all.q <NULL>", "", {}, 8, queued},
           {"n1 8 all.q 0,0:0,1", "", {}, 8, queued},
           {"n1\t8", "", {}, 8, queued},
       }) {
    const HostLine line = line_of(c.text);
    EXPECT_THAT(line.word.names, ElementsAre("n1")) << c.text;
    EXPECT_EQ(line.word.user, c.user) << c.text;
    EXPECT_EQ(line.port, c.port) << c.text;
    EXPECT_EQ(line.word.workers, c.workers) << c.text;
    EXPECT_EQ(line.count, c.count) << c.text;
    EXPECT_FALSE(line.away) << c.text;
  }
  EXPECT_THAT(line_of("n[1-2] slots=4").word.names, ElementsAre("n1", "n2"));
  EXPECT_THAT(line_of("[fe80::1]:2").word.names, ElementsAre("fe80::1"));
}

TEST(HostLine, NamesAreTakenAway) {
  EXPECT_TRUE(line_of("^n3").away);
  EXPECT_THAT(line_of("^n[3-4] # broken").word.names, ElementsAre("n3", "n4"));
}

TEST(HostLine, OnlyDeepSpeedsFormIsDeepSpeeds) {
  for (const char* text : {"n1 slots=8", "n1   slots=8  # eight", "10.0.0.1\tslots=1\r"})
    EXPECT_TRUE(line_of(text).deepspeed) << text;
  for (const char* text : {"n1", "n1:8", "n1 8", "me@n1 slots=8", "n[1-2] slots=8", "n1 slots = 8", "n1 count=8",
                           "n1 slots=8 port=22", "^n1"})
    EXPECT_FALSE(line_of(text).deepspeed) << text;
}

TEST(HostLine, WhatIsOfNoUseIsKept) {
  EXPECT_THAT(line_of("n1:8 binding=user:0 ifhn=ib0 binding=x").ignored, ElementsAre("binding", "ifhn"));
  EXPECT_THAT(line_of("n1 max_slots=8").ignored, ElementsAre());
}

TEST(HostLine, EachErrorSaysWhatIsWrongAndWhatIsRight) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"+n2",
            "+n2 counts the hosts of an allocation, as Open MPI does, which launch does not do; write the host's"},
           {"+e", "+e counts the hosts of an allocation"},
           {"n1 n2", "n2 after n1 is neither a number of workers nor a setting such as slots=8; write one host a line"},
           {"n1,n2", "n1,n2 has a comma, where only one host or range may stand"},
           {"n1 8 n2 8", "n2 after n1 is one word too many; write one host a line"},
           {"n1 8 q r s", "s after n1 is one word too many; write one host a line"},
           {"n1 0 q r", "0 is not a number of workers for n1; it must be from 1 to 65536"},
           {"n1 slots=0", "0 is not a number of workers for n1; it must be from 1 to 65536"},
           {"n1 slots=", "\"\" is not a number of workers for n1"},
           {"n1 slots=x", "x is not a number of workers for n1"},
           {"n1:2 slots=2", "n1 has two numbers of workers; write one"},
           {"n1 slots=2 count=2", "n1 has two numbers of workers"},
           {"n1:2 8", "n1 has two numbers of workers"},
           {"n1 user=", "the name of the user is empty"},
           {"n1 user=-x", "-x is not the name of a user"},
           {"me@n1 user=you", "n1 has two users, me and you; write one"},
           {"n1 port=0", "0 is not a port of ssh; it must be a number from 1 to 65535"},
           {"n1 port=65536", "65536 is not a port of ssh"},
           {"n1 port=22 port=23", "n1 has two ports, 22 and 23; write one"},
           {"n1 slot=8",
            "the setting slot=8 is not known; launch reads slots=, count=, cpu=, user=, username= and port="},
           {"n1 = 8", "the setting =8 is not known"},
           {"-oX slots=8", "-oX is not a host name"},
           {"^n1 slots=8", "^n1 takes hosts away, so nothing may follow it"},
           {"^n1:8", "after ^, n1:8 is not a host name"},
           {"^", "after ^, a host has an empty name"},
       }) {
    const auto line = parse_host_line(c.text);
    ASSERT_FALSE(line) << c.text;
    EXPECT_THAT(line.error().message, HasSubstr(c.error)) << c.text;
    EXPECT_EQ(line.error().code, ErrorCode::usage) << c.text;
  }
}

}  // namespace launch::host_line_test
