#include "launch/io/process_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace launch::process_facts_test {

TEST(ProcessFacts, TheParentComesFirstAndThePathLeadsUp) {
  const ProcessFacts facts = read_process_facts({});
  EXPECT_EQ(facts.pid, ::getpid());
  ASSERT_FALSE(facts.ancestors.empty());
  EXPECT_EQ(facts.ancestors.front().pid, ::getppid());
  EXPECT_NE(facts.ancestors.front().command, "");
  EXPECT_EQ(facts.ancestors.front().command.find('\0'), std::string::npos);
  EXPECT_FALSE(facts.cgroup.empty());
}

}  // namespace launch::process_facts_test
