#include "launch/core/options/foreign_names.hpp"

#include "launch/core/options/option_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::foreign_names_test {

using testing::HasSubstr;

TEST(ForeignNames, OfOtherLaunchersLeadToOurs) {
  for (const char* name : {"-n", "-np", "--nprocs", "--num_processes", "--num-processes", "--ntasks-per-node"})
    EXPECT_THAT(std::string(hint_for_foreign(name).value_or("")), HasSubstr("--nproc-per-node")) << name;
  for (const char* name : {"-N", "--num_nodes", "--num_machines"})
    EXPECT_THAT(std::string(hint_for_foreign(name).value_or("")), HasSubstr("--nnodes")) << name;
  EXPECT_THAT(std::string(hint_for_foreign("--host").value_or("")), HasSubstr("--hostfile FILE"));
  EXPECT_THAT(std::string(hint_for_foreign("--dry-run").value_or("")), HasSubstr("--explain"));
}

TEST(ForeignNames, OthersAreLeftToWhoeverFindsTheNearest) {
  for (const char* name : {"", "-", "--", "--nnode", "--bogus", "-x"}) EXPECT_FALSE(hint_for_foreign(name)) << name;
}

TEST(ForeignNames, NoneIsOneOfOurs) {
  for (const OptionRow& row : option_table()) {
    EXPECT_FALSE(hint_for_foreign(row.name)) << row.name;
    EXPECT_FALSE(hint_for_foreign(row.short_name)) << row.short_name;
  }
}

}  // namespace launch::foreign_names_test
