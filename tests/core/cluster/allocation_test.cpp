#include "launch/core/cluster/allocation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::allocation_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// OpenPBS's batch script.
const Environment pbs{{"PBS_JOBID", "1234.pbs01"},
                      {"PBS_NODEFILE", "/var/spool/pbs/aux/1234.pbs01"},
                      {"PBS_ENVIRONMENT", "PBS_BATCH"},
                      {"PBS_NODENUM", "0"},
                      {"PBS_TASKNUM", "00000001"}};

ProcessFacts with_file(std::string text) {
  ProcessFacts facts;
  facts.host_file = std::move(text);
  return facts;
}

TEST(Allocation, ABatchScriptIsToldHowAllNodesAreUsed) {
  ASSERT_TRUE(may_be_in_cluster(pbs));
  EXPECT_EQ(host_file(pbs), "/var/spool/pbs/aux/1234.pbs01");
  const ClusterView view = *view_cluster(pbs, with_file("n1\nn1\nn2\nn3\n"));
  EXPECT_FALSE(view.start);
  EXPECT_EQ(
      view.notice,
      "PBS job 1234.pbs01 has 3 nodes, and this launch uses one of them, as torchrun would; \"launch --hosts=auto "
      "...\" uses all, as does \"mpiexec -n 3 -ppn 1 launch ...\" (with Open MPI \"mpirun -N 1 launch ...\"), and "
      "--nnodes=1 says that one is meant");
  EXPECT_THAT(view.found, ElementsAre(HasSubstr("PBS job 1234.pbs01: nothing was started on its other nodes")));
}

TEST(Allocation, OneNodeIsNoNews) {
  for (const char* text : {"", "n1\n", "n1\nn1\n", "\n\n"}) EXPECT_EQ(view_cluster(pbs, with_file(text))->notice, "");
}

TEST(Allocation, OtherSystemsHaveOtherFiles) {
  const Environment lsf{{"LSB_JOBID", "7"}, {"LSB_MCPU_HOSTS", "n1 8 n2 8 "}};
  EXPECT_EQ(host_file(lsf), "");
  EXPECT_THAT(view_cluster(lsf, {})->notice, StartsWith("LSF job 7 has 2 nodes"));
  const Environment with_jsrun{{"LSB_JOBID", "7"}, {"LSB_MCPU_HOSTS", "batch3 1 n1 42"}, {"LSB_DJOB_RANKFILE", "/r"}};
  EXPECT_EQ(view_cluster(with_jsrun, {})->notice, "") << "the batch host is no node of the job";
  const Environment sge{{"JOB_ID", "9"}, {"PE_HOSTFILE", "/spool/pe"}};
  EXPECT_THAT(view_cluster(sge, with_file("n1 8 all.q@n1 UNDEFINED\nn2 8 all.q@n2 UNDEFINED\n"))->notice,
              StartsWith("SGE job 9 has 2 nodes"));
  EXPECT_FALSE(speaks_of_allocation({{"JOB_ID", "9"}})) << "a name that anybody may use";
}

TEST(Allocation, ATaskOfPbsDoesNotKnowTheOthers) {
  const Environment task{{"PBS_JOBID", "1234.pbs01"}, {"PBS_TASKNUM", "0000000A"}, {"PBS_NODENUM", "1"}};
  EXPECT_THAT(view_cluster(task, {})->notice, HasSubstr("tells a task neither the number of nodes nor the first host"));
}

TEST(Allocation, AWorkersOwnLaunchIsNoneOfItsBusiness) {
  Environment env = pbs;
  env.set("TORCHELASTIC_RUN_ID", "1");
  env.set("LOCAL_RANK", "0");
  EXPECT_EQ(view_cluster(env, with_file("n1\nn2\n"))->notice, "");
}

}  // namespace launch::allocation_test
