#include "launch/core/cluster/task_identity.hpp"

#include "../../support/slurm.hpp"
#include "../../support/starts.hpp"

#include <gtest/gtest.h>

namespace launch::task_identity_test {

TEST(TaskIdentity, WhatIsOfOneTaskGoesAndWhatIsOfTheJobStays) {
  const Environment rest = without_identity(starts::open_mpi());
  for (const char* gone : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMIX_NAMESPACE", "PRTE_LAUNCHED"})
    EXPECT_FALSE(rest.get(gone)) << gone;
  EXPECT_TRUE(rest.get("SLURM_JOB_ID"));
  EXPECT_EQ(without_identity(starts::intel_mpi()).lines(), std::vector<std::string>());
  EXPECT_TRUE(without_identity(starts::flux()).get("FLUX_JOB_ID"));
  EXPECT_FALSE(without_identity(starts::flux()).get("FLUX_TASK_RANK"));
  EXPECT_EQ(without_identity(slurm::step()).lines(), slurm::step().lines());
  const Environment tuning{{"OMPI_MCA_btl", "tcp"}, {"HYDRA_IFACE", "eth0"}, {"I_MPI_DEBUG", "5"}};
  EXPECT_EQ(without_identity(tuning).lines(), tuning.lines());
}

}  // namespace launch::task_identity_test
