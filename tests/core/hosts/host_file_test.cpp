#include "launch/core/hosts/host_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_file_test {

using testing::ElementsAre;

// Entries as words: "user@name:workers/port".
std::string hosts(std::string_view text) {
  const auto file = parse_host_file(text);
  if (!file) return "error: " + file.error().message;
  std::string words;
  for (const HostEntry& host : file->hosts) {
    if (!words.empty()) words += ' ';
    if (!host.user.empty()) words += host.user + '@';
    words += host.name;
    if (host.workers) words += ':' + std::to_string(*host.workers);
    if (host.port) words += '/' + std::to_string(*host.port);
    EXPECT_FALSE(host.spare);
  }
  return words;
}

TEST(HostFile, Dialects) {
  struct Case {
    const char* dialect;
    const char* text;
    const char* hosts;
  };
  for (const Case& c : std::vector<Case>{
           {"names", "n1\nn2\n", "n1 n2"},
           {"no newline at the end", "n1\nn2", "n1 n2"},
           {"Open MPI", "# all\nn1 slots=4 max_slots=8\n\nme@n2 count=2 port=2222 # ssh\n", "n1:4 me@n2:2/2222"},
           {"PRRTE", "n[1-4] slots=2\n^n3\n", "n1:2 n2:2 n4:2"},
           {"PRRTE, ^ in front", "^n3\nn[1-4] slots=2\n", "n1:2 n2:2 n4:2"},
           {"DeepSpeed", "worker-0 slots=8\nworker-1 slots=4\n", "worker-0:8 worker-1:4"},
           {"MPICH", "n1:8 binding=user:0 user=me\nn2:4\nn3\n", "me@n1:8 n2:4 n3"},
           {"PBS", "n1\nn1\nn2\nn1\n", "n1:3 n2:1"},
           {"PBS, one slot a host", "n1\nn2\nn3\n", "n1 n2 n3"},
           {"SGE", "n1 8 all.q@n1 UNDEFINED\nn2 4 all.q@n2 UNDEFINED\n", "n1:8 n2:4"},
           {"SGE, two queues", "n1 8 a.q UNDEFINED\nn2 4 a.q UNDEFINED\nn1 4 b.q UNDEFINED\n", "n1:12 n2:4"},
           {"CRLF", "n1 slots=2\r\n\r\nn2 slots=2\r\n", "n1:2 n2:2"},
           {"byte order mark", "\xEF\xBB\xBFn1 slots=2\n", "n1:2"},
           {"addresses", "[fe80::1]:2\n10.0.0.1 slots=2\n", "fe80::1:2 10.0.0.1:2"},
       })
    EXPECT_EQ(hosts(c.text), c.hosts) << c.dialect;
}

TEST(HostFile, DeepSpeedsIsKnown) {
  EXPECT_TRUE(parse_host_file("# eight\nn1 slots=8\n\nn2 slots=8 # too\n")->deepspeed);
  EXPECT_FALSE(parse_host_file("n1 slots=8\nn2\n")->deepspeed);
  EXPECT_FALSE(parse_host_file("n1 slots=8\nn2 slots=8\n^n2\n")->deepspeed);
}

TEST(HostFile, NoticesSayWhatHasNoEffect) {
  EXPECT_THAT(parse_host_file("n1:8 binding=rr ifhn=ib0\nn2:8\n\nn3:8 binding=rr\nn4:8 binding=rr")->notices,
              ElementsAre("binding= has no effect (line 1 and 2 other lines)", "ifhn= has no effect (line 1)"));
  EXPECT_THAT(parse_host_file("n1 slots=8 max_slots=9\n")->notices, ElementsAre());
}

TEST(HostFile, EachErrorSaysWhere) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"", "no host is named; write one a line, as in n1 slots=8"},
           {"# nothing\n\n^n1\n", "no host is named"},
           {"n1\n^n1\n", "no host is left, since ^ takes away all that are named"},
           {"n1\n\n^n2\n", "line 3: ^ takes away n2, which the file does not name"},
           {"# x\n\nn1 slots=0\n", "line 3: 0 is not a number of workers for n1; it must be from 1 to 65536"},
           {"n1\nn[2-1]\n", "line 2: n[2-1] cannot be read (a range that runs backwards in 2-1)"},
           {"n1 slots=8\nn2 slots=8\nn1 slots=8\n",
            "line 3: n1 is named twice (first in line 1); give it one line with its number of workers, as in n1 "
            "slots=8"},
           {"n1:8\nn1\n", "line 2: n1 is named twice (first in line 1)"},
           {"n1 8\nn1:8\n", "line 2: n1 is named twice (first in line 1)"},
           {"n1:*\nn1:*\n", "line 2: n1 is named twice (first in line 1)"},
           {"n1\nn1\nn2 slots=8\n", "line 2: n1 is named twice (first in line 1)"},
           {"n1\nme@n1\n", "line 2: n1 has another user or port than in line 1; write the same"},
           {"n1 port=22\nn1\n", "line 2: n1 has another user or port than in line 1"},
           {"n1 65536 q r\nn1 1 q r\n", "line 2: n1 has more than 65536 workers"},
           {"n[1-65536]\nm\n", "line 2: more than 65536 hosts are named"},
           {"n[1-65536]\nn[1-65536]\n", "line 2: more than 65536 hosts are named"},
       }) {
    const std::string error = hosts(c.text);
    EXPECT_TRUE(error.starts_with(std::string("error: ") + c.error)) << c.text << '\n' << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << c.text;
  }
  EXPECT_EQ(parse_host_file("").error().code, ErrorCode::usage);
}

TEST(HostFile, IsBounded) {
  std::string many;
  for (int line = 0; line < 65'537; ++line) many += "n1\n";
  EXPECT_EQ(hosts(many), "error: line 65537: n1 has more than 65536 workers");
  EXPECT_EQ(hosts(std::string((8U << 20U) + 1, '\n')),
            "error: it has 8388609 bytes, and a list of hosts may have at most 8 MiB");
  EXPECT_EQ(hosts(std::string((8U << 20U) - 2, ' ') + "n1"), "n1");
}

}  // namespace launch::host_file_test
