#include "launch/core/host/gpu_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::gpu_facts_test {

using ::testing::ElementsAre;

const GpuFact full{"GPU-5a", "NVIDIA H100", 700, 1000, 93, {{41, 300}, {42, std::nullopt}}};
const GpuFact unknown{"", "", std::nullopt, std::nullopt, std::nullopt, {}};

TEST(GpuFacts, AreReadAsTheyWereWritten) {
  const auto read = parse_gpu_facts(to_lines(full) + to_lines(unknown) + std::string(end_of_gpus));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(full, unknown));
  const auto none = parse_gpu_facts(end_of_gpus);
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, ElementsAre());
}

TEST(GpuFacts, ANameCannotBreakALine) {
  GpuFact gpu;
  gpu.name = "a\tb\nend\n\x1b";
  const auto read = parse_gpu_facts(to_lines(gpu) + std::string(end_of_gpus));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at(0).name, "a b end  ");
}

TEST(GpuFacts, ALibraryThatCannotBeUsedSaysWhy) {
  const auto read = parse_gpu_facts(no_gpus_line("libnvidia-ml.so.1: no such\tfile"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::closed);
  EXPECT_EQ(read.error().message, "libnvidia-ml.so.1: no such file");
}

TEST(GpuFacts, WhatIsNotCompleteIsAnError) {
  for (const std::string lines :
       {"", "gpu\t1\t2\t3\ta\tb\n", "gpu\t1\nend\n", "process\t1\t2\nend\n", "hello\nend\n", "none\n"}) {
    const auto read = parse_gpu_facts(lines);
    ASSERT_FALSE(read) << lines;
    EXPECT_EQ(read.error().code, ErrorCode::protocol) << lines;
  }
}

TEST(GpuFacts, NumbersThatAreNoneAreNotKnown) {
  const auto read = parse_gpu_facts("gpu\t-1\t99999999999999999999\tx\ta\tb\nprocess\t-7\t1\nprocess\t7\t-\nend\n");
  ASSERT_TRUE(read);
  EXPECT_THAT(*read, ElementsAre(GpuFact{"a", "b", std::nullopt, std::nullopt, std::nullopt, {{7, std::nullopt}}}));
}

TEST(GpuMemory, IsThatOfAllTheseProcessesOnAllGpus) {
  const GpuFacts gpus = {full, {"GPU-6b", "", 5, 9, 0, {{41, 30}, {43, 5}}}};
  EXPECT_EQ(gpu_memory_of(gpus, {41, 43, 44}), 335);
  EXPECT_EQ(gpu_memory_of(gpus, {44}), std::nullopt) << "it is on no GPU";
  EXPECT_EQ(gpu_memory_of(gpus, {42}), std::nullopt) << "it is not known";
}

}  // namespace launch::gpu_facts_test
