#include "launch/core/host/xid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::xid_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Time at_us(std::int64_t microseconds) { return Time(std::chrono::microseconds(microseconds)); }

std::vector<Xid> parsed(const std::string& text) { return parse_xids("4,7,2000000,-;" + text + "\n"); }

TEST(Xid, TheNumberTheGpuTheProcessAndTheTimeAreRead) {
  EXPECT_THAT(parsed("NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."),
              ElementsAre(Xid{79, "0000:3b:00.0", 1234, at_us(2'000'000)}));
}

TEST(Xid, EachDriverWritesItInItsOwnWay) {
  struct Case {
    std::string text;
    Xid xid;
  };
  const Time at = at_us(2'000'000);
  const std::vector<Case> cases = {
      {"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
       {79, "0000:3b:00.0", 0, at}},
      {"NVRM: Xid (PCI:0000:3b:00): 48, pid=<unknown>, DBE", {48, "0000:3b:00.0", 0, at}},
      {"NVRM: Xid (0000:03:00): 62, 2a1b(3e8c) 00000000 00000000", {62, "0000:03:00.0", 0, at}},
      {"NVRM: Xid (PCI:0009:01:00 GPU-I:05): 94, pid=77, name=a, Contained", {94, "0009:01:00.0", 77, at}},
      {"NVRM: Xid (PCI:0000:3b:00): 31, pid=12, Ch 00000010", {31, "0000:3b:00.0", 12, at}},
  };
  for (const Case& one : cases) EXPECT_THAT(parsed(one.text), ElementsAre(one.xid)) << one.text;
}

TEST(Xid, WhatIsSomethingElseIsLeftOut) {
  for (const std::string text :
       {"", "NVRM: GPU at PCI:0000:3b:00: GPU-5a", "NVRM: Xid", "NVRM: Xid (", "NVRM: Xid (PCI:0000:3b:00)",
        "NVRM: Xid (PCI:0000:3b:00): ", "NVRM: Xid (PCI:0000:3b:00): x", "NVRM: Xid (PCI:0000:3b:00): -1, pid=1",
        "NVRM: Xid (\x1b[31m): 79, pid=1", "NVRM: Xid (): 79", "python: NVRM: Xid (PCI:0000:3b:00): 79"})
    EXPECT_THAT(parsed(text), IsEmpty()) << text;
  for (const std::string record : {"", "NVRM: Xid (PCI:0000:3b:00): 79", ";NVRM: Xid (PCI:0000:3b:00): 79",
                                   "4,7,x,-;NVRM: Xid (PCI:0000:3b:00): 79"})
    EXPECT_THAT(parse_xids(record), IsEmpty()) << record;
}

TEST(Xid, OfSeveralRecordsAllAreRead) {
  const auto xids = parse_xids(
      "4,7,2000000,-;NVRM: Xid (PCI:0000:3b:00): 63, pid=1, name=a\n"
      " SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"
      "6,8,2000001,-;usb 1-1: new device\n"
      "4,9,3000000,-,caller=T7;NVRM: Xid (PCI:0000:5e:00): 48, pid=2, name=b\n");
  EXPECT_THAT(xids,
              ElementsAre(Xid{63, "0000:3b:00.0", 1, at_us(2'000'000)}, Xid{48, "0000:5e:00.0", 2, at_us(3'000'000)}));
}

TEST(Xid, TheWellKnownNumbersHaveWords) {
  for (const int number : {13, 31, 43, 45, 48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120})
    EXPECT_NE(meaning_of_xid(number), "") << number;
  EXPECT_EQ(meaning_of_xid(79), "the GPU has fallen off the bus");
  EXPECT_EQ(meaning_of_xid(7), "");
}

constexpr pid_t worker = 50;
const XidReader reader{3, worker, at_us(10'000'000)};

TEST(XidNote, SaysWhatWhereWhoAndWhen) {
  EXPECT_EQ(xid_note({{79, "0000:3b:00.0", 1234, at_us(7'000'000)}}, reader),
            "the driver reported Xid 79 on GPU 0000:3b:00.0 (the GPU has fallen off the bus), pid 1234, 3 s before "
            "rank 3 ended");
  EXPECT_EQ(xid_note({{7, "0000:3b:00.0", 0, at_us(9'700'000)}}, reader),
            "the driver reported Xid 7 on GPU 0000:3b:00.0, 300 ms before rank 3 ended");
  EXPECT_EQ(xid_note({{7, "0000:3b:00.0", 0, at_us(10'200'000)}}, reader),
            "the driver reported Xid 7 on GPU 0000:3b:00.0, as rank 3 ended");
  EXPECT_EQ(xid_note({}, reader), "");
}

TEST(XidNote, TheOneThatMattersMostComesFirst) {
  const Xid removed{45, "0000:3b:00.0", worker, at_us(1)};
  const Xid early{31, "0000:3b:00.0", 7, at_us(2)};
  const Xid late{48, "0000:5e:00.0", 0, at_us(3)};
  const Xid own{13, "0000:5e:00.0", worker, at_us(4)};
  const auto told = [](const std::vector<Xid>& xids) {
    const std::string note = xid_note(xids, reader);
    return note.substr(0, note.find(" on GPU"));
  };
  EXPECT_EQ(told({removed, early, late, own}), "the driver reported Xid 13") << "it names the worker itself";
  EXPECT_EQ(told({removed, late, early}), "the driver reported Xid 31") << "it is the oldest";
  EXPECT_EQ(told({removed}), "the driver reported Xid 45");
  EXPECT_THAT(xid_note({removed, late, early}, reader), ::testing::EndsWith(", and 2 more"));
}

}  // namespace launch::xid_test
