#include "launch/core/cluster/platform_start.hpp"

#include "../../support/starts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::platform_start_test {

using testing::ElementsAre;
using testing::HasSubstr;

// The view of the first platform that has left variables.
Result<ClusterView> view_platform(const Environment& env, const ProcessFacts& facts) {
  for (const std::string_view word : platform_words())
    if (speaks_of_platform(word, env)) return launch::view_platform(word, env, facts);
  return ClusterView{};
}

std::string platform_word(const Environment& env) {
  for (const std::string_view word : platform_words())
    if (speaks_of_platform(word, env)) return std::string(word);
  return "";
}

struct Platform {
  std::string_view word;
  Environment env;
  std::string hostname;
  int nodes, rank;
  std::string host;
  std::uint16_t port;
};

std::vector<Platform> platforms() {
  return {{"lws", starts::leader_worker_set(), "demo-0-2", 4, 2, "demo-0.demo.default", 29500},
          {"pytorchjob", starts::pytorch_job(), "demo-worker-0", 3, 1, "demo-master-0", 23456},
          {"volcano", starts::volcano(), "demo-worker-1", 2, 1, "demo-worker-0.demo", 23456},
          {"sagemaker", starts::sagemaker(), "algo-2", 2, 1, "algo-1", 7777},
          {"azureml", starts::azure_ml(), "node1", 2, 1, "10.0.0.4", 6105},
          {"awsbatch", starts::aws_batch(), "ip-10-0-0-5", 3, 2, "10.0.0.7", 29500},
          {"skypilot", starts::skypilot(), "node1", 2, 1, "10.0.0.4", 29500},
          {"dstack", starts::dstack(), "node1", 2, 1, "10.0.0.4", 29500},
          {"ngc", starts::ngc(), "node1", 2, 1, "launcher-svc", 29500}};
}

TEST(PlatformStart, EachSaysHowManyNodesWhichOneAndWhereTheFirstIs) {
  for (const Platform& one : platforms()) {
    EXPECT_EQ(platform_word(one.env), one.word);
    const auto view = view_platform(one.env, starts::pod(one.hostname));
    ASSERT_TRUE(view && view->start) << one.word;
    const ClusterStart& start = *view->start;
    EXPECT_EQ(start.nodes.value, one.nodes) << one.word;
    EXPECT_EQ(start.node_rank.value, NodeRank(one.rank)) << one.word;
    EXPECT_EQ(start.host.value, one.host) << one.word;
    EXPECT_EQ(start.port.value, one.port) << one.word;
  }
}

// One variable less gives the same job, an error that names it, or no start at all: never another job.
TEST(PlatformStart, AVariableThatIsMissing) {
  for (const Platform& one : platforms())
    for (const std::string& line : one.env.lines()) {
      const std::string name = line.substr(0, line.find('='));
      Environment env = one.env;
      env.remove(name);
      const auto view = view_platform(env, starts::pod(one.hostname));
      if (!view) {
        EXPECT_THAT(view.error().message, HasSubstr(name)) << one.word;
      } else if (view->start) {
        EXPECT_EQ(view->start->nodes.value, one.nodes) << one.word << " " << name;
        EXPECT_EQ(view->start->node_rank.value, NodeRank(one.rank)) << one.word << " " << name;
        EXPECT_EQ(view->start->host.value, one.host) << one.word << " " << name;
      }
    }
}

TEST(PlatformStart, TheMainNodeOfAwsBatchIsNode0) {
  Environment env = starts::aws_batch();
  env.set("AWS_BATCH_JOB_NODE_INDEX", "2");
  env.remove("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS");
  const auto view = view_platform(env, starts::pod("ip-10-0-0-7"));
  ASSERT_TRUE(view && view->start);
  EXPECT_EQ(view->start->node_rank.value, NodeRank(0));
  EXPECT_EQ(view->start->host.value, "ip-10-0-0-7");
}

TEST(PlatformStart, AnIndexedJobHasNode0BelowItsOwnDomain) {
  ProcessFacts facts = starts::pod("demo-3");
  facts.full_hostname = "demo-3.service.space.svc.cluster.local";
  const auto view = view_platform(starts::indexed_job(), facts);
  ASSERT_TRUE(view && view->start);
  EXPECT_EQ(view->start->nodes.value, 0) << "PET_NNODES is an option";
  EXPECT_EQ(view->start->node_rank.value, NodeRank(3));
  EXPECT_EQ(view->start->host.value, "demo-0.service.space.svc.cluster.local");
  EXPECT_EQ(view->start->id, "demo-0");
  facts.full_hostname = "";
  const auto lone = view_platform(starts::indexed_job(), facts);
  EXPECT_EQ(lone->start->host.value, "");
  EXPECT_THAT(lone->start->host_hint, HasSubstr("headless service"));
}

TEST(PlatformStart, WhatTheTrainerSetsIsLeftToIt) {
  Environment env = starts::indexed_job();
  env.set("PET_NODE_RANK", "3");
  EXPECT_EQ(platform_word(env), "");
  Environment job = starts::pytorch_job();
  job.set("PET_NNODES", "3");
  EXPECT_EQ(platform_word(job), "");
}

TEST(PlatformStart, AMasterThatIsToldLocalhostIsNamed) {
  Environment env = starts::pytorch_job();
  env.set("RANK", "0");
  env.set("MASTER_ADDR", "localhost");
  EXPECT_EQ(view_platform(env, starts::pod("demo-master-0"))->start->host.value, "demo-master-0");
}

TEST(PlatformStart, VolcanoWithSeveralKindsOfPods) {
  Environment env = starts::volcano();
  EXPECT_TRUE(view_platform(env, starts::pod("n7"))->start) << "with the network of the host";
  env.set("VC_PS_HOSTS", "demo-ps-0.demo");
  EXPECT_TRUE(view_platform(env, starts::pod("demo-worker-1"))->start);
  env.set("VC_TASK_INDEX", "0");
  for (const char* hostname : {"demo-ps-0", "stranger"}) {
    const auto view = view_platform(env, starts::pod(hostname));
    EXPECT_FALSE(view->start) << hostname;
    EXPECT_THAT(view->found, ElementsAre(HasSubstr("does not say which pods this one belongs to")));
  }
  env.remove("VC_PS_HOSTS");
  env.remove("VC_WORKER_HOSTS");  // the plug-in "env" without "svc"
  EXPECT_FALSE(view_platform(env, starts::pod("demo-worker-0"))->start);
}

// Anybody may have exported them: a notebook, or a script.
TEST(PlatformStart, PlainRanksCountOnlyInThePodsOfAPyTorchJob) {
  for (const char* hostname : {"jupyter-ann", "demo-worker-7", "demo-master-1", ""}) {
    const auto view = view_platform(starts::pytorch_job(), starts::pod(hostname));
    EXPECT_FALSE(view->start) << hostname;
    EXPECT_THAT(view->notice, HasSubstr("unless --cluster=pytorchjob says that it is one of several")) << hostname;
  }
  EXPECT_TRUE(view_platform(starts::pytorch_job(), starts::pod("demo-worker-1"))->start) << "without a master";
  EXPECT_TRUE(launch::view_platform("pytorchjob", starts::pytorch_job(), starts::pod("n7"), true)->start)
      << "with the network of the host";
  Environment volcano = starts::pytorch_job();
  volcano.set("VC_TASK_INDEX", "0");
  EXPECT_TRUE(view_platform(volcano, starts::pod("demo-worker-0"))->start);
  Environment nonsense = starts::pytorch_job();
  nonsense.set("RANK", "8");
  nonsense.set("MASTER_ADDR", "");
  EXPECT_TRUE(view_platform(nonsense, starts::pod("jupyter-ann"))) << "it may be of something else";
}

TEST(PlatformStart, ListsOfSageMakerThatAreNonsense) {
  const std::string deep(100'000, '[');
  for (const std::string& list : {std::string(), std::string("algo-1"), std::string("[]"), std::string("[1,2]"),
                                  std::string(R"(["algo-1")"), std::string(R"(["algo-1"])"), deep}) {
    Environment env = starts::sagemaker();
    env.set("SM_HOSTS", list);
    const auto view = view_platform(env, starts::pod("algo-2"));
    ASSERT_FALSE(view) << list.substr(0, 20);
    EXPECT_THAT(view.error().message, HasSubstr("SM_HOSTS="));
  }
}

// A container of the user's own, in which the toolkit does not run.
TEST(PlatformStart, TheFileOfSageMakerStandsForItsVariables) {
  const std::string text = R"({"current_host":"algo-1","current_group_name":"g","hosts":["algo-2","algo-1"],)"
                           R"("network_interface_name":"eth0"})";
  const Environment env = with_sagemaker_file({{"TRAINING_JOB_NAME", "demo"}}, text);
  const auto view = view_platform(env, starts::pod("algo-1"));
  ASSERT_TRUE(view && view->start);
  EXPECT_EQ(view->start->nodes.value, 2);
  EXPECT_EQ(view->start->nodes.from, "resourceconfig.json");
  EXPECT_EQ(view->start->node_rank.value, NodeRank(0))
      << "the list is sorted, since it need not be the same everywhere";
  EXPECT_EQ(view->start->host.value, "algo-1");
  EXPECT_EQ(view->start->id, "demo");
}

TEST(PlatformStart, AFileOfSageMakerThatIsSomethingElseSaysNothing) {
  for (const char* text : {"", "{}", "[]", "x", R"({"hosts":["a"]})", R"({"hosts":"a","current_host":"a"})",
                           R"({"hosts":[1],"current_host":"a"})", R"({"hosts":["a"],"current_host":1})"})
    EXPECT_EQ(with_sagemaker_file({{"A", "1"}}, text).lines(), std::vector<std::string>{"A=1"}) << text;
  const Environment env = with_sagemaker_file(starts::sagemaker(), R"({"hosts":["a"],"current_host":"a"})");
  EXPECT_EQ(env.lines(), starts::sagemaker().lines()) << "the variables count";
}

// "kubectl exec -it POD -- bash", and a launch in it.
TEST(PlatformStart, AShellInAPodIsNoPartOfItsJob) {
  ProcessFacts facts = starts::pod("demo-worker-1");
  facts.pid = 300;
  facts.ancestors = {{290, "bash"}};
  for (const char* first : {"launch train.py", "/pause"}) {
    facts.first_command = first;
    facts.terminal = true;
    const auto view = view_platform(starts::volcano(), facts);
    EXPECT_FALSE(view->start);
    EXPECT_THAT(view->found, ElementsAre(HasSubstr("beside the one that Volcano started")));
  }
  facts.terminal = false;  // the pod's containers share their process numbers, and it is the first of one of them
  EXPECT_TRUE(view_platform(starts::volcano(), facts)->start);
}

}  // namespace launch::platform_start_test
