#include "launch/core/cluster/slurm_step.hpp"

#include "../../support/slurm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::slurm_step_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SlurmStep, AStepOfTwoNodes) {
  const auto view = view_slurm(slurm::step(), slurm::task());
  ASSERT_TRUE(view && view->start);
  const ClusterStart& start = *view->start;
  EXPECT_EQ(start.id, "3.0");
  EXPECT_EQ(start.nodes.value, 2);
  EXPECT_EQ(start.node_rank.value, NodeRank(1));
  EXPECT_THAT(start.names, ElementsAre("n1", "n2"));
  EXPECT_EQ(start.host.value, "n1");
  EXPECT_FALSE(start.place);
  EXPECT_GE(start.port.value, 61000);
}

TEST(SlurmStep, ThePortIsTheSameOnAllNodesAndAnotherOneForAnotherStart) {
  const auto port_of = [](const Environment& env) { return view_slurm(env, slurm::task())->start->port.value; };
  Environment env = slurm::step();
  const auto port = port_of(env);
  env.set("SLURM_NODEID", "0");
  env.set("SLURMD_NODENAME", "n1");
  EXPECT_EQ(port_of(env), port);
  env.set("SLURM_RESTART_COUNT", "1");
  EXPECT_NE(port_of(env), port);
  EXPECT_EQ(view_slurm(env, slurm::task())->start->id, "3.0.r1");
  env.set("SLURM_STEP_RESV_PORTS", "12003-12004");
  EXPECT_EQ(port_of(env), 12004);
  env.set("SLURM_STEP_RESV_PORTS", "12003-12004,12010");
  EXPECT_EQ(port_of(env), 12010);
}

// As "srun -N3 -n4" starts them. Each task is a launch, counted node by node.
TEST(SlurmStep, SeveralTasksOnANode) {
  Environment env = slurm::step();
  env.set("SLURM_STEP_NUM_NODES", "3");
  env.set("SLURM_STEP_NODELIST", "n[1-3]");
  env.set("SLURM_STEP_TASKS_PER_NODE", "2,1(x2)");
  env.set("SLURM_PROCID", "2");
  const ClusterStart start = *view_slurm(env, slurm::task())->start;
  EXPECT_EQ(start.nodes.value, 4);
  EXPECT_EQ(start.node_rank.value, NodeRank(2));
  ASSERT_TRUE(start.place);
  EXPECT_EQ(start.place->local_task, 0);
  EXPECT_EQ(start.place->local_tasks, 1);
  EXPECT_EQ(start.place->node, NodeRank(1));
  EXPECT_EQ(start.place->nodes, 3);
  EXPECT_EQ(start.notice, "");
  env.set("SLURM_PROCID", "1");  // "-m cyclic"
  EXPECT_EQ(view_slurm(env, slurm::task())->start->node_rank.value, NodeRank(2));
  EXPECT_THAT(view_slurm(env, slurm::task())->start->notice, HasSubstr("task 1 has rank 2"));
  env.set("SLURM_LOCALID", "1");
  EXPECT_THAT(view_slurm(env, slurm::task()).error().message,
              HasSubstr("SLURM_LOCALID=1: expected a number from 0 to 0"));
}

TEST(SlurmStep, TasksPerNodeThatAreNonsense) {
  Environment env = slurm::step();
  env.set("SLURM_STEP_NUM_NODES", "3");
  env.set("SLURM_STEP_NODELIST", "n[1-3]");
  for (const char* wrong : {"2", "2,1(x3)", "", "a", "1(x", "0(x3)", "1(x-3)", "1(x3", "3000000000(x3)"}) {
    env.set("SLURM_STEP_TASKS_PER_NODE", wrong);
    const auto view = view_slurm(env, slurm::task());
    ASSERT_FALSE(view) << wrong;
    EXPECT_THAT(view.error().message, HasSubstr("SLURM_STEP_TASKS_PER_NODE=")) << wrong;
  }
}

// Each variable of a step that is gone is named, or nothing changes: no node waits for others that know better.
TEST(SlurmStep, AVariableThatIsMissingIsNamedOrNotNeeded) {
  const ClusterStart whole = *view_slurm(slurm::step(), slurm::task())->start;
  for (const std::string& line : slurm::step().lines()) {
    const std::string name = line.substr(0, line.find('='));
    Environment env = slurm::step();
    env.remove(name);
    const auto view = view_slurm(env, slurm::task());
    if (!view) {
      EXPECT_THAT(view.error().message, HasSubstr(name + " is not set"));
      continue;
    }
    ASSERT_TRUE(view->start) << name;
    EXPECT_EQ(view->start->nodes.value, whole.nodes.value) << name;
    EXPECT_EQ(view->start->node_rank.value, whole.node_rank.value) << name;
    EXPECT_EQ(view->start->names, whole.names) << name;
    EXPECT_TRUE(view->start->port.value == whole.port.value || name == "SLURM_CLUSTER_NAME") << name;
  }
}

TEST(SlurmStep, NonsenseIsOneLineThatNamesIt) {
  const std::pair<const char*, const char*> wrong[] = {
      {"SLURM_STEP_NUM_NODES", "0"},   {"SLURM_STEP_NUM_NODES", "many"}, {"SLURM_STEP_NUM_NODES", "3"},
      {"SLURM_NODEID", "2"},           {"SLURM_NODEID", "-1"},           {"SLURM_NODEID", ""},
      {"SLURM_STEP_NODELIST", "n[1-"}, {"SLURM_STEP_NODELIST", ""},      {"SLURM_STEP_NODELIST", "n1"},
      {"SLURM_JOB_ID", "three"},       {"SLURM_STEP_ID", "99999999999"}};
  for (const auto& [name, value] : wrong) {
    Environment env = slurm::step();
    env.set(name, value);
    const auto view = view_slurm(env, slurm::task());
    ASSERT_FALSE(view) << name << "=" << value;
    EXPECT_EQ(view.error().code, ErrorCode::usage);
    EXPECT_THAT(view.error().message, HasSubstr(name));
  }
}

TEST(SlurmStep, AnAllocationOfSeveralNodesIsNoticed) {
  const auto view = view_slurm(slurm::batch(), slurm::in_batch());
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->start);
  EXPECT_THAT(view->notice, HasSubstr("Slurm job 8 has 3 nodes, and this launch uses one of them"));
  Environment small = slurm::batch();
  small.set("SLURM_JOB_NUM_NODES", "1");
  EXPECT_EQ(view_slurm(small, slurm::in_batch())->notice, "");
}

TEST(SlurmStep, LeftoversAreNoStart) {
  ProcessFacts elsewhere;
  elsewhere.ancestors = {{1, "/sbin/init"}};
  const auto old = view_slurm(slurm::step(), elsewhere);
  EXPECT_FALSE(old->start);
  EXPECT_EQ(old->notice, "");
  EXPECT_THAT(old->found, ElementsAre(HasSubstr("left over")));
}

}  // namespace launch::slurm_step_test
