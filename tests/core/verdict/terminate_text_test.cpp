#include "launch/core/verdict/terminate_text.hpp"

#include <gtest/gtest.h>

namespace launch::terminate_text_test {

TEST(TerminateText, TheClassAndTheTextOfTheException) {
  EXPECT_EQ(terminate_text("step 1\nterminate called after throwing an instance of 'std::runtime_error'\n"
                           "  what():  no such data set\n"),
            "std::runtime_error: no such data set");
  EXPECT_EQ(terminate_text("libc++abi: terminating due to uncaught exception of type std::runtime_error: no data\n"),
            "std::runtime_error: no data");
  EXPECT_EQ(terminate_text("terminate called after throwing an instance of 'int'\n"), "int");
}

TEST(TerminateText, AWatchdogsStackIsBehindIt) {
  std::string text =
      "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2)\n"
      "terminate called after throwing an instance of 'c10::DistBackendError'\n"
      "  what():  [PG ID 0 Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2)\n"
      "Exception raised from checkTimeout at ProcessGroupNCCL.cpp:618 (most recent call first):\n";
  for (int frame = 0; frame < 40; ++frame) text += "frame #" + std::to_string(frame) + ": <unknown function>\n";
  EXPECT_EQ(terminate_text(text),
            "c10::DistBackendError: [PG ID 0 Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2)");
  for (int line = 0; line < 200; ++line) text += "epoch\n";
  EXPECT_FALSE(terminate_text(text)) << "the worker went on";
}

TEST(TerminateText, AnyOtherOutputIsNone) {
  for (const char* text : {"", "terminate", "what():  x\n", "terminate called without an active exception\n"})
    EXPECT_FALSE(terminate_text(text)) << text;
  EXPECT_EQ(terminate_text("terminate called after throwing an instance of 'A\n"), "A");
  EXPECT_EQ(terminate_text(std::string("terminate called after throwing an instance of 'A'\n  what():  ") +
                           std::string(9000, 'x'))
                ->size(),
            300U);
}

}  // namespace launch::terminate_text_test
