#include "launch/core/hosts/left_overs.hpp"

#include <gtest/gtest.h>

namespace launch::left_overs_test {

using Found = std::vector<SurveyedProcess>;

constexpr int self = 900;

// The process that looks, with what is above it; it runs within a job.
std::vector<SeenProcess> with_self(std::vector<SeenProcess> others) {
  others.insert(others.begin(), {1, 0, "systemd", "/sbin/init", "", false, false});
  others.push_back({899, 1, "sshd", "sshd: me", "job0", true, false});
  others.push_back({self, 899, "launch", "launch --remote 1", "job0", true, true});
  return others;
}

TEST(LeftOvers, AWorkerWhoseAgentIsGone) {
  EXPECT_EQ(left_overs(with_self({{10, 1, "python", "python train.py", "job1", true, false},
                                  {11, 10, "python", "python loader", "job1", true, false},
                                  {12, 1, "bash", "bash", "", true, false},
                                  {13, 1, "python", "python of another", "job1", false, false}}),
                       self),
            (Found{{10, "python train.py", "job1", true, false}}));
}

TEST(LeftOvers, AWorkerWhoseAgentLivesIsNone) {
  for (const auto& [name, command] : {std::pair{"launch", "launch train.py"}, std::pair{"python", "torchrun train.py"},
                                      std::pair{"python3", "python -m my.own.launcher"}})
    EXPECT_EQ(left_overs(with_self({{10, 1, name, command, "", true, false},
                                    {11, 10, "python", "python train.py", "job1", true, false}}),
                         self),
              Found())
        << command;
  const SeenProcess first{1, 0, "torchrun", "python /usr/bin/torchrun train.py", "", true, false};
  EXPECT_EQ(left_overs({first, {11, 1, "python", "python train.py", "job1", true, false}}, self), Found())
      << "in a container";
}

TEST(LeftOvers, WhoeverAdoptsIsNoAgent) {
  for (const char* name : {"systemd", "tini", "containerd-shim", "slurmstepd"})
    EXPECT_EQ(left_overs(with_self({{5, 1, name, name, "", false, false},
                                    {11, 5, "python", "python train.py", "job1", true, false}}),
                         self)
                  .size(),
              1U)
        << name;
  EXPECT_EQ(left_overs(with_self({{11, 4000, "python", "python", "job1", true, false}}), self).size(), 1U)
      << "its parent cannot be seen";
}

TEST(LeftOvers, WhateverOfMineHoldsAGpu) {
  EXPECT_EQ(left_overs(with_self({{10, 1, "launch", "launch train.py", "", true, false},
                                  {11, 10, "python", "python train.py", "job1", true, true},
                                  {12, 11, "python", "python child", "job1", true, true},
                                  {13, 1, "jupyter", "jupyter", "", true, true},
                                  {14, 1, "python", "python of another", "", false, true}}),
                       self),
            (Found{{11, "python train.py", "job1", false, true},
                   {12, "python child", "job1", false, true},
                   {13, "jupyter", "", false, true}}));
}

TEST(LeftOvers, ACircleEnds) {
  EXPECT_EQ(left_overs({{7, 8, "a", "a", "", true, false}, {8, 7, "b", "b", "", true, false}}, 7), Found());
  EXPECT_EQ(left_overs({}, self), Found());
}

}  // namespace launch::left_overs_test
