#include "launch/core/workers/explain.hpp"

#include "../config/settling.hpp"

#include <nlohmann/json.hpp>

namespace launch::explain_test {

using ::testing::HasSubstr;
using ::testing::Not;

struct Explained {
  std::string text;
  nlohmann::json json;
};

Explained explain(Args args, const HostFacts& facts = plain_facts()) {
  args.emplace_back("train.py");
  args.emplace_back("it's");
  const auto command = parse_command(args, facts.env);
  const auto& options = std::get<Options>(*command);
  const auto config = settle(options, facts);
  if (!config) {
    ADD_FAILURE() << config.error().message;
    return {};
  }
  return {explain_text(options, *config, facts.env), nlohmann::json::parse(explain_json(options, *config, facts.env))};
}

TEST(Explain, ShowsSettingsWithTheirOrigin) {
  const auto [text, json] = explain({"--nproc-per-node=2", "--omp-threads=1"}, facts_with({{"PET_ROLE", "r"}}));
  EXPECT_THAT(text, HasSubstr("  --nproc-per-node            2  (command line)\n"));
  EXPECT_THAT(text, HasSubstr("  --role                      r  (PET_ROLE)\n"));
  EXPECT_THAT(text, HasSubstr("  --rdzv-backend              static  (default)\n"));
  EXPECT_EQ(json["settings"][1]["name"], "--nproc-per-node");
  EXPECT_EQ(json["settings"][1]["origin"], "--nproc-per-node");
  EXPECT_TRUE(json["settings"][0]["origin"].is_null());
}

TEST(Explain, ShowsEachWorkersCommandAndWhatItsEnvironmentHasMore) {
  const auto [text, json] =
      explain({"--nproc-per-node=2"}, facts_with({{"HOME", "/root"}, {"RANK", "9"}, {"ROLE_NAME", "default"}}));
  EXPECT_THAT(text, HasSubstr("Local rank 1, rank 1:\n  /usr/bin/python3 -u train.py 'it'\\''s'\n"));
  EXPECT_THAT(text, HasSubstr("    RANK=1\n"));
  EXPECT_THAT(text, HasSubstr("    MASTER_PORT='<a free port>'\n"));
  EXPECT_THAT(text, HasSubstr("Note: OMP_NUM_THREADS is not set"));
  EXPECT_THAT(text, Not(HasSubstr("HOME")));
  EXPECT_THAT(text, Not(HasSubstr("ROLE_NAME")));
  EXPECT_EQ(json["workers"][1]["environment"]["LOCAL_RANK"], "1");
  EXPECT_TRUE(json["workers"][1]["environment"]["MASTER_PORT"].is_null());
  EXPECT_TRUE(json["master_port"].is_null());
  EXPECT_EQ(json["workers"][0]["command"][3], "it's");
}

TEST(Explain, ShowsTheCommandsAroundTheWorkers) {
  const auto [text, json] = explain({"--before-workers=mount /data", "--after-workers=sync", "--hook-timeout=0"});
  EXPECT_THAT(text, HasSubstr("  before the workers  /bin/sh -c 'mount /data'\n"));
  EXPECT_THAT(text, HasSubstr("  after the workers   /bin/sh -c sync\n"));
  EXPECT_THAT(text, HasSubstr("  time for each       no limit\n"));
  EXPECT_EQ(json["commands"]["before_workers"][2], "mount /data");
  EXPECT_FALSE(json["commands"].contains("timeout_s"));
  EXPECT_FALSE(explain({}).json.contains("commands"));
}

TEST(Explain, RanksOfANodeAmongSeveral) {
  const auto [text, json] = explain({"--nnodes=3", "--node-rank=1", "--nproc-per-node=2", "--master-addr=a"});
  EXPECT_THAT(text, HasSubstr("Node 1 of 3, run id none, master a port 29500\n"));
  EXPECT_THAT(text, HasSubstr("Ranks 2 to 3 of 6, if every node has as many workers as this one\n"));
  EXPECT_EQ(json["workers"][1]["rank"], 3);
  EXPECT_EQ(json["master_port"], 29500);
}

TEST(Explain, ShowsAllHostsThatMayHaveTheStore) {
  const Args args{"--nnodes=2", "--rdzv-backend=c10d", "--quorum=host", "--rdzv-endpoint=n0,n1:29500", "--rdzv-id=j"};
  EXPECT_THAT(explain(args).text, HasSubstr("One of 2 to 2 nodes, run id j, rendezvous at n0:29500, n1:29500; waits"));
}

TEST(Explain, ShowsTheTableOfBindings) {
  HostFacts facts = plain_facts();
  for (int cpu = 0; cpu < 4; ++cpu) facts.topology.cpus.push_back({cpu, cpu / 2, cpu / 2, cpu, cpu});
  facts.topology.allowed = {0, 1, 2, 3};
  const auto [text, json] = explain({"--nproc-per-node=2", "--numa-binding=node"}, facts);
  EXPECT_THAT(text, HasSubstr("  1           2-3                         1\n"));
  EXPECT_EQ(json["workers"][1]["cpus"], (std::vector<int>{2, 3}));
}

}  // namespace launch::explain_test
