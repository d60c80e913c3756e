#include "launch/core/workers/worker_spec.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::worker_spec_test {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Config plain_config() {
  Config config;
  config.meeting = StaticChoice{{"node0", 4000}, 2, NodeRank(1)};
  config.nproc_per_node = 2;
  config.role = "trainer";
  config.run_id = "job7";
  config.program = {"/usr/bin/python3", {"/usr/bin/python3", "-u", "train.py"}, "train.py", "train.py"};
  config.worker_env = {{"HOME", "/root"}};
  return config;
}

const Round second_node{Assignment{.group_rank = NodeRank(1),
                                   .group_world_size = 2,
                                   .base_global_rank = GlobalRank(3),
                                   .world_size = 5,
                                   .base_role_rank = 1,
                                   .role_world_size = 4},
                        std::nullopt, 0, true};

std::string value_of(const WorkerSpec& spec, const std::string& name) {
  for (const std::string& line : spec.env) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "(not set)";
}

TEST(WorkerSpec, EveryVariableOfTheTableIsThere) {
  const auto specs = make_worker_specs(plain_config(), second_node, "/tmp/e");
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_THAT(
      specs[1].env,
      UnorderedElementsAre("HOME=/root", "LOCAL_RANK=1", "RANK=4", "GROUP_RANK=1", "ROLE_RANK=2", "ROLE_NAME=trainer",
                           "LOCAL_WORLD_SIZE=2", "WORLD_SIZE=5", "GROUP_WORLD_SIZE=2", "ROLE_WORLD_SIZE=4",
                           "MASTER_ADDR=node0", "MASTER_PORT=4000", "TORCHELASTIC_RESTART_COUNT=0",
                           "TORCHELASTIC_MAX_RESTARTS=0", "TORCHELASTIC_RUN_ID=job7",
                           "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_ERROR_FILE=/tmp/e/1/error.json"));
  EXPECT_EQ(specs[1].local_rank, LocalRank(1));
  EXPECT_EQ(specs[1].global_rank, GlobalRank(4));
  EXPECT_EQ(specs[1].error_file, "/tmp/e/1/error.json");
  EXPECT_EQ(specs[1].executable, "/usr/bin/python3");
  EXPECT_THAT(specs[1].argv, ElementsAre("/usr/bin/python3", "-u", "train.py"));
}

TEST(WorkerSpec, WithoutAFolderThereIsNoErrorFile) {
  const auto specs = make_worker_specs(plain_config(), second_node, "");
  EXPECT_EQ(specs[0].error_file, "");
  EXPECT_EQ(value_of(specs[0], "TORCHELASTIC_ERROR_FILE"), "");
}

TEST(WorkerSpec, WhatAnOuterLauncherLeftBehindIsOverwritten) {
  Config config = plain_config();
  for (const char* name : {"RANK", "LOCAL_RANK", "ROLE_RANK", "WORLD_SIZE", "MASTER_PORT", "TORCHELASTIC_ERROR_FILE",
                           "TORCHELASTIC_RUN_ID", "GROUP_RANK"}) {
    config.worker_env.set(name, "outer");
  }
  config.worker_env.set("RANKING", "outer");
  for (const WorkerSpec& spec : make_worker_specs(config, second_node, "/tmp/e")) {
    std::set<std::string> names;
    for (const std::string& line : spec.env) {
      EXPECT_TRUE(names.insert(line.substr(0, line.find('='))).second) << line;
      EXPECT_TRUE(line.starts_with("RANKING=") || !line.ends_with("=outer")) << line;
    }
    EXPECT_EQ(value_of(spec, "RANKING"), "outer");
  }
}

TEST(WorkerSpec, MacrosExpandInArgumentsAsInPythonsTemplates) {
  const std::pair<const char*, const char*> cases[] = {
      {"${local_rank}", "1"},
      {"$local_rank", "1"},
      {"a${local_rank}b$local_rank", "a1b1"},
      {"$local_rank.log", "1.log"},
      {"$local_rank$local_rank", "11"},
      {"$local_rank_x", "$local_rank_x"},
      {"$local_rank2", "$local_rank2"},
      {"$local_rankX", "$local_rankX"},
      {"$LOCAL_RANK ${LOCAL_RANK}", "$LOCAL_RANK ${LOCAL_RANK}"},
      {"${local_rank", "${local_rank"},
      {"${ local_rank }", "${ local_rank }"},
      {"${rank}", "${rank}"},
      {"$$", "$"},
      {"$$$", "$$"},
      {"$$$$", "$$"},
      {"$$local_rank", "$local_rank"},
      {"$$$local_rank", "$1"},
      {"$${local_rank}", "${local_rank}"},
      {"cost: $5", "cost: $5"},
      {"$", "$"},
      {"", ""},
      {"$local_rank\xc3\xa4", "1\xc3\xa4"},
  };
  Config config = plain_config();
  for (const auto& [argument, expected] : cases) {
    config.program.argv = {"$local_rank", argument};
    const auto specs = make_worker_specs(config, second_node, "");
    EXPECT_THAT(specs[1].argv, ElementsAre("$local_rank", expected));
  }
}

TEST(WorkerSpec, RanksOfANodeAreConsecutive) {
  Config config = plain_config();
  config.nproc_per_node = 512;
  const auto specs = make_worker_specs(config, second_node, "");
  ASSERT_EQ(specs.size(), 512U);
  for (int i = 0; i < 512; ++i) {
    const WorkerSpec& spec = specs[static_cast<std::size_t>(i)];
    EXPECT_EQ(value_of(spec, "LOCAL_RANK"), std::to_string(i));
    EXPECT_EQ(value_of(spec, "RANK"), std::to_string(3 + i));
    EXPECT_EQ(value_of(spec, "ROLE_RANK"), std::to_string(1 + i));
    EXPECT_EQ(value_of(spec, "LOCAL_WORLD_SIZE"), "512");
  }
}

TEST(WorkerSpec, VirtualLocalRanksAreZeroAndSeeOneDevice) {
  Config config = plain_config();
  config.worker_env.set("CUDA_VISIBLE_DEVICES", "4,6");
  config.virtual_device = {"4", "6"};
  const auto specs = make_worker_specs(config, second_node, "/tmp/e");
  for (const auto& [rank, device] : {std::pair(0, "4"), std::pair(1, "6")}) {
    const WorkerSpec& spec = specs[static_cast<std::size_t>(rank)];
    EXPECT_EQ(value_of(spec, "LOCAL_RANK"), "0");
    EXPECT_EQ(value_of(spec, "CUDA_VISIBLE_DEVICES"), device);
    EXPECT_EQ(value_of(spec, "RANK"), std::to_string(3 + rank));
    EXPECT_EQ(value_of(spec, "TORCHELASTIC_ERROR_FILE"), "/tmp/e/" + std::to_string(rank) + "/error.json");
    EXPECT_EQ(std::count_if(spec.env.begin(), spec.env.end(),
                            [](const std::string& line) { return line.starts_with("CUDA_VISIBLE_DEVICES="); }),
              1);
  }
}

TEST(WorkerSpec, TellsWhoServesTheStoreAndHowOftenWorkersMayBeRestarted) {
  Config config = plain_config();
  config.serves_workers = false;
  config.restarts.max_restarts = 3;
  const auto specs = make_worker_specs(config, second_node, "/tmp/e");
  EXPECT_EQ(value_of(specs[0], "TORCHELASTIC_USE_AGENT_STORE"), "False");
  EXPECT_EQ(value_of(specs[0], "TORCHELASTIC_MAX_RESTARTS"), "3");
}

std::vector<WorkerInput> inputs(InputChoice choice) {
  Config config = plain_config();
  config.input = choice;
  std::vector<WorkerInput> result;
  for (const WorkerSpec& spec : make_worker_specs(config, second_node, "")) result.push_back(spec.input);
  return result;
}

TEST(WorkerSpec, TheInputGoesToWhomTheUserHasChosen) {
  using enum InputChoice::Readers;
  using enum WorkerInput;
  EXPECT_THAT(inputs({}), ElementsAre(inherited, inherited));
  EXPECT_THAT(inputs({each}), ElementsAre(copy, copy));
  EXPECT_THAT(inputs({none}), ElementsAre(nothing, nothing));
  // This node has the ranks 3 and 4.
  EXPECT_THAT(inputs({one, GlobalRank(4)}), ElementsAre(nothing, inherited));
  EXPECT_THAT(inputs({one, GlobalRank(3)}), ElementsAre(inherited, nothing));
  EXPECT_THAT(inputs({one, GlobalRank(0)}), ElementsAre(nothing, nothing));
  EXPECT_THAT(inputs({one, GlobalRank(77)}), ElementsAre(nothing, nothing));
}

TEST(WorkerSpec, HasTheBindingOfItsLocalRank) {
  Config config = plain_config();
  EXPECT_EQ(make_worker_specs(config, second_node, "")[1].binding, Binding());
  config.bindings = {Binding{{0, 1}, {0}}, Binding{{2, 3}, {1}}};
  EXPECT_EQ(make_worker_specs(config, second_node, "")[1].binding, (Binding{{2, 3}, {1}}));
}

}  // namespace launch::worker_spec_test
