#include "launch/core/hosts/head_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_plan_test {
namespace {

using testing::ElementsAre;

HeadPlan plan_of(std::size_t nodes) {
  HeadPlan plan;
  for (std::size_t i = 0; i < nodes; ++i) plan.nodes.push_back({"n" + std::to_string(i + 1), {}, {}});
  plan.options = {"--tee=3"};
  plan.program = {"--", "x.py", "--", "-v"};
  plan.run_id = "job";
  plan.nnodes = std::to_string(nodes);
  return plan;
}

TEST(HeadPlan, AStaticNodeIsToldItsRankAndWhereTheFirstOneIs) {
  HeadPlan plan = plan_of(2);
  plan.nodes[1].options = {"--nproc-per-node=3"};
  EXPECT_THAT(
      node_line(plan, 1, {"10.0.0.1", 61003}),
      ElementsAre("--tee=3", "--nproc-per-node=3", "--cluster=none", "--rdzv-id=job", "--nnodes=2", "--node-rank=1",
                  "--master-addr=10.0.0.1", "--master-port=61003", "--", "--", "x.py", "--", "-v"));
}

TEST(HeadPlan, ANodeOfC10dIsToldTheEndpointAlone) {
  HeadPlan plan = plan_of(2);
  plan.c10d = true;
  plan.nnodes = "1:2";
  EXPECT_THAT(node_line(plan, 1, {"fd00::1", 61003}),
              ElementsAre("--tee=3", "--cluster=none", "--rdzv-id=job", "--nnodes=1:2",
                          "--rdzv-endpoint=[fd00::1]:61003", "--", "--", "x.py", "--", "-v"));
}

TEST(HeadPlan, OneNodeMeetsNobody) {
  HeadPlan plan = plan_of(1);
  EXPECT_THAT(node_line(plan, 0, {"", 0}),
              ElementsAre("--tee=3", "--cluster=none", "--rdzv-id=job", "--nnodes=1", "--", "--", "x.py", "--", "-v"));
  plan.port = 29500;
  EXPECT_THAT(node_line(plan, 0, {"", 0}), testing::Contains("--master-port=29500"));
}

TEST(HeadPlan, TheQuestionHasAllThatTheNodeNeeds) {
  HeadPlan plan = plan_of(2);
  plan.env = {"A=1"};
  plan.nodes[1].env = {"CUDA_VISIBLE_DEVICES=0,2"};
  plan.folder = "/work";
  plan.umask = 027;
  plan.keeps_output = true;
  plan.port = 29500;
  const NodeJob job = node_job(plan, 1);
  EXPECT_EQ(job.node, 1);
  EXPECT_EQ(job.nodes, 2);
  EXPECT_THAT(job.env, ElementsAre("A=1", "CUDA_VISIBLE_DEVICES=0,2"));
  EXPECT_EQ(job.folder, "/work");
  EXPECT_EQ(job.umask, 027);
  EXPECT_TRUE(job.keeps_output);
  EXPECT_EQ(job.port, 29500);
  EXPECT_EQ(job.silence_ms, 15'000);
  EXPECT_EQ(job.token, "job");
  EXPECT_EQ(job.args, node_line(plan, 1, {"127.0.0.1", 1}));
}

}  // namespace
}  // namespace launch::head_plan_test
