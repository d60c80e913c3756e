#include "launch/core/verdict/evidence_notes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::evidence_notes_test {

using testing::ElementsAre;
using testing::HasSubstr;

ProcessLook look(pid_t pid, char state) {
  ProcessLook look;
  look.pid = pid;
  look.name = "python";
  look.state = state;
  return look;
}

TEST(EvidenceNotes, AllThatIsSeenIsInTheTextAndWhatIsOddInThePlaces) {
  EvidenceNotes notes;
  notes.add(GlobalRank(0), look(10, 'R'), true);
  notes.add(GlobalRank(1), look(11, 'T'), true);
  notes.add(GlobalRank(1), look(12, 'T'), false);
  notes.add(GlobalRank(2), look(13, 'T'), true);
  notes.add(GlobalRank(3), look(14, 'Z'), true);
  notes.out_of_time(GlobalRank(4));
  for (const char* said : {"rank 0: pid 10 (python)", "rank 1: pid 12", "rank 4 and higher ranks: not looked at"})
    EXPECT_THAT(notes.text(), HasSubstr(said));
  EXPECT_THAT(notes.text(), testing::Not(HasSubstr("rank 3")));
  const std::vector<RankGroup> places = notes.places();
  ASSERT_EQ(places.size(), 1U);
  EXPECT_THAT(places[0].ranks, ElementsAre(1, 2));
  EXPECT_FALSE(notes.has_stacks());
}

TEST(EvidenceNotes, WhoIsExitingIsNoPlaceToLookAt) {
  EvidenceNotes notes;
  ProcessLook exiting = look(10, 'D');
  exiting.kernel_stack = "[<0>] exit_mmap+0x1/0x2\n[<0>] do_exit+0x3/0x4\n";
  notes.add(GlobalRank(0), exiting, true);
  EXPECT_THAT(notes.text(), HasSubstr("rank 0: pid 10"));
  EXPECT_TRUE(notes.places().empty());
}

TEST(EvidenceNotes, AStackSaysMoreThanAState) {
  EvidenceNotes notes;
  notes.add(GlobalRank(1), look(11, 'T'), true);
  notes.add_stack(GlobalRank(1), "Thread 0x1 (most recent call first):\n  File \"train.py\", line 7 in reduce\n");
  EXPECT_THAT(notes.text(), HasSubstr("rank 1, Python stacks:\nThread 0x1"));
  EXPECT_EQ(notes.places(), (std::vector<RankGroup>{{"in reduce (train.py:7)", {1}}}));
  EXPECT_TRUE(notes.has_stacks());
}

TEST(EvidenceNotes, WhatIsNoStackIsKeptAsText) {
  EvidenceNotes notes;
  notes.add_stack(GlobalRank(2), "py-spy did not finish\n");
  EXPECT_THAT(notes.text(), HasSubstr("py-spy did not finish"));
  EXPECT_FALSE(notes.has_stacks());
  EXPECT_TRUE(notes.places().empty());
}

}  // namespace launch::evidence_notes_test
