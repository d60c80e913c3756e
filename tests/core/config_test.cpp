#include "launch/core/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Args = std::vector<std::string>;

HostFacts plain_facts() {
  HostFacts facts;
  facts.hostname = "node7";
  facts.usable_cpus = 6;
  facts.fresh_id = "fresh";
  facts.path_python = "/usr/bin/python3";
  return facts;
}

// Through the command line, as a user comes: `args` stand before "train.py".
Result<Config> settle_line(Args args, const HostFacts& facts) {
  args.emplace_back("train.py");
  const auto command = parse_command(args, facts.env);
  if (!command) return command.error();
  return settle(std::get<Options>(*command), facts);
}

Config config_of(const Args& args, const HostFacts& facts = plain_facts()) {
  auto config = settle_line(args, facts);
  if (config) return *std::move(config);
  ADD_FAILURE() << config.error().message;
  return {};
}

std::string fault_of(const Args& args, const HostFacts& facts = plain_facts()) {
  const auto config = settle_line(args, facts);
  if (config) return "";
  EXPECT_EQ(config.error().code, ErrorCode::usage);
  EXPECT_THAT(config.error().message, Not(HasSubstr("\n")));
  return config.error().message;
}

// The four flags of a two-node job, and more.
Args two_nodes(const Args& more) {
  Args args{"--nnodes=2", "--node-rank=1", "--master-addr=node0", "--master-port=4000"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Config, ThePlainOneNodeJobKeepsToItself) {
  const Config config = config_of({});
  EXPECT_EQ(config.nnodes, 1);
  EXPECT_EQ(config.node_rank, 0);
  EXPECT_EQ(config.nproc_per_node, 1);
  EXPECT_EQ(config.role, "default");
  EXPECT_EQ(config.run_id, "fresh");
  EXPECT_EQ(config.master, (Endpoint{"127.0.0.1", 0}));
  EXPECT_TRUE(config.loopback_only);
  EXPECT_FALSE(config.identical_workers);
  EXPECT_EQ(config.rendezvous_timeout, 900s);
  EXPECT_EQ(config.shutdown_timeout, 30s);
  EXPECT_EQ(config.hostname, "node7");
  EXPECT_THAT(config.program.argv, ElementsAre("/usr/bin/python3", "-u", "train.py"));
  EXPECT_THAT(config.notices, IsEmpty());
}

TEST(Config, TheFourFlagsOfATwoNodeJob) {
  const Config config = config_of(two_nodes({"--nproc-per-node=1"}));
  EXPECT_EQ(config.nnodes, 2);
  EXPECT_EQ(config.node_rank, 1);
  EXPECT_EQ(config.master, (Endpoint{"node0", 4000}));
  EXPECT_EQ(config.run_id, "none");
  EXPECT_FALSE(config.loopback_only);
  EXPECT_THAT(config.notices, IsEmpty());
}

TEST(Config, TheJobSizeIsTheMaximum) {
  EXPECT_EQ(config_of({"--nnodes=2:5", "--master-addr=a"}).nnodes, 5);
  EXPECT_EQ(config_of({"--nnodes=1:1"}).nnodes, 1);
}

TEST(Config, MasterPortDefaultsOnlyWhereNodesMustFindIt) {
  EXPECT_EQ(config_of({"--nnodes=2", "--master-addr=a"}).master, (Endpoint{"a", 29500}));
  EXPECT_EQ(config_of({"--master-port=5000"}).master, (Endpoint{"127.0.0.1", 5000}));
  EXPECT_EQ(config_of({"--master-port=5000"}).run_id, "none");
  EXPECT_EQ(config_of({"--master-port=0"}).master, (Endpoint{"127.0.0.1", 0}));
}

TEST(Config, OneNodeKeepsAGivenRunIdAndSaysThatTheAddressIsIgnored) {
  const Config config = config_of({"--rdzv-id=job7", "--master-addr=elsewhere"});
  EXPECT_EQ(config.run_id, "job7");
  EXPECT_EQ(config.master, (Endpoint{"127.0.0.1", 0}));
  EXPECT_THAT(config.notices, ElementsAre(HasSubstr("--master-addr ignored")));
}

TEST(Config, AnEmptyRunIdIsAFreshOneOnOneNodeAndAnErrorOnSeveral) {
  EXPECT_EQ(config_of({"--rdzv-id="}).run_id, "fresh");
  EXPECT_EQ(config_of({"--rdzv-id=", "--master-port=1"}).run_id, "fresh");
  EXPECT_THAT(fault_of(two_nodes({"--rdzv-id="})), HasSubstr("--rdzv-id is empty"));
}

TEST(Config, StandaloneIgnoresEveryGivenMeetingPlaceAndSaysSo) {
  HostFacts facts = plain_facts();
  facts.env.set("PET_MASTER_PORT", "99999");
  const Config config = config_of({"--standalone", "--rdzv-backend=c10d", "--rdzv-endpoint=h", "--rdzv-id=x"}, facts);
  EXPECT_EQ(config.master, (Endpoint{"127.0.0.1", 0}));
  EXPECT_EQ(config.run_id, "fresh");
  EXPECT_TRUE(config.loopback_only);
  EXPECT_THAT(
      config.notices,
      ElementsAre(HasSubstr("--rdzv-backend, --rdzv-endpoint, --rdzv-id, PET_MASTER_PORT ignored: --standalone")));
}

TEST(Config, TheEndpointWinsOverAddressAndPort) {
  const Config config = config_of(two_nodes({"--rdzv-endpoint=[::1]:77"}));
  EXPECT_EQ(config.master, (Endpoint{"::1", 77}));
  EXPECT_THAT(config.notices, ElementsAre(HasSubstr("--master-addr, --master-port ignored: --rdzv-endpoint wins")));
}

TEST(Config, OneNodeMayLeaveThePortOfItsEndpointOpen) {
  EXPECT_EQ(config_of({"--rdzv-endpoint=localhost"}).master, (Endpoint{"localhost", 0}));
  EXPECT_TRUE(config_of({"--rdzv-endpoint=localhost:0"}).loopback_only);
  EXPECT_FALSE(config_of({"--rdzv-endpoint=node7:0"}).loopback_only);
}

TEST(Config, SeveralNodesWithoutAnAddressAreWarned) {
  EXPECT_THAT(config_of({"--nnodes=2"}).notices, ElementsAre(HasSubstr("--master-addr is not given")));
  EXPECT_FALSE(config_of({"--nnodes=2"}).loopback_only);
}

TEST(Config, WorkersAreCountedByNumberOrByWhatTheNodeHas) {
  HostFacts facts = plain_facts();
  EXPECT_EQ(config_of({"--nproc-per-node=3"}, facts).nproc_per_node, 3);
  EXPECT_EQ(config_of({"--nproc-per-node=cpu"}, facts).nproc_per_node, 6);
  EXPECT_EQ(config_of({"--nproc-per-node=auto"}, facts).nproc_per_node, 6);
  facts.gpus = 2;
  EXPECT_EQ(config_of({"--nproc-per-node=gpu"}, facts).nproc_per_node, 2);
  EXPECT_EQ(config_of({"--nproc-per-node=auto"}, facts).nproc_per_node, 2);
  EXPECT_EQ(config_of({"--nproc-per-node=cpu"}, facts).nproc_per_node, 6);
}

TEST(Config, TimeoutsAreRead) {
  EXPECT_EQ(config_of({"--rdzv-conf=timeout=1.5,rank=9,unknown=x"}).rendezvous_timeout, 1500ms);
  EXPECT_EQ(config_of({"--rdzv-conf=timeout=1e300"}).rendezvous_timeout, 1'000'000'000s);
  EXPECT_EQ(config_of({"--rdzv-conf=rank=9"}).node_rank, 0);
  EXPECT_EQ(config_of({"--shutdown-timeout=0"}).shutdown_timeout, 0s);
  EXPECT_EQ(config_of({"--shutdown-timeout=99999999999"}).shutdown_timeout, 2'147'483'647s);
}

TEST(Config, BadInputIsOneClearLineThatNamesItsOrigin) {
  struct Case {
    Args args;
    const char* words;
  };
  const Case cases[] = {
      {{"--nnodes", "0"}, "--nnodes 0 is outside 1..100000"},
      {{"--nnodes=-2"}, "--nnodes -2 is outside"},
      {{"--nnodes=0:2"}, "--nnodes 0:2 is outside"},
      {{"--nnodes=99999999999"}, "--nnodes 99999999999 is outside"},
      {{"--nnodes=3:2"}, "--nnodes 3:2: MIN is above MAX"},
      {{"--nnodes=x"}, "--nnodes x: expected a number of nodes, or MIN:MAX"},
      {{"--nnodes=1:2:3"}, "--nnodes 1:2:3: expected a number of nodes, or MIN:MAX"},
      {{"--nnodes=1:"}, "expected a number of nodes, or MIN:MAX"},
      {{"--nproc-per-node=0"}, "--nproc-per-node 0 is outside 1..16384"},
      {{"--nproc-per-node=-1"}, "--nproc-per-node -1 is outside"},
      {{"--nproc-per-node=foo"}, "--nproc-per-node foo: expected a number of workers, auto, cpu or gpu"},
      {{"--nproc-per-node=gpu"}, "--nproc-per-node gpu: this node has no visible GPU; give a number"},
      {{"--nnodes=2", "--node-rank=2"}, "--node-rank 2 is outside 0..1 (2 nodes, counted from 0)"},
      {{"--node-rank", "-1"}, "--node-rank -1 is outside 0..0 (1 node, counted from 0)"},
      {two_nodes({"--master-port=99999"}), "--master-port 99999 is outside 1..65535"},
      {two_nodes({"--master-port=-1"}), "--master-port -1 is outside 1..65535"},
      {two_nodes({"--master-port=0"}), "--master-port 0: port 0 (any free one) is for one node"},
      {{"--master-port=99999"}, "--master-port 99999 is outside 1..65535"},
      {two_nodes({"--master-addr=h:1"}), "--master-addr h:1: expected a host without a port; --master-port"},
      {two_nodes({"--master-addr=my host"}), "--master-addr \"my host\": a host name consists of"},
      {two_nodes({"--rdzv-endpoint=h"}), "--rdzv-endpoint h: the port is missing"},
      {two_nodes({"--rdzv-endpoint=h:0"}), "--rdzv-endpoint h:0: port 0 (any free one) is for one node"},
      {two_nodes({"--rdzv-endpoint=h:99999"}), "--rdzv-endpoint h:99999: the port 99999 is no number"},
      {{"--rdzv-backend=c10d"}, "--rdzv-backend c10d: this version knows only static"},
      {{"--rdzv-backend=bogus"}, "--rdzv-backend bogus: this version knows only static"},
      {{"--rdzv-conf=a="}, "--rdzv-conf a=: the key a has no value"},
      {{"--rdzv-conf=a=1,"}, "--rdzv-conf a=1,: an entry has no key"},
      {{"--rdzv-conf=timeout=0"}, "--rdzv-conf timeout=0: expected a timeout above 0 seconds"},
      {{"--rdzv-conf=timeout=soon"}, "--rdzv-conf timeout=soon: expected a timeout"},
      {{"--standalone", "--nnodes=2"}, "--standalone is for one node, but --nnodes 2 says 2"},
      {{"--monitor-interval=0"}, "--monitor-interval 0: expected seconds above 0"},
      {{"--shutdown-timeout=-1"}, "--shutdown-timeout -1: expected 0 or more seconds"},
      {{"--no-python", "-m"}, "--no-python and --module exclude each other"},
  };
  for (const auto& c : cases) EXPECT_THAT(fault_of(c.args), HasSubstr(c.words));
}

TEST(Config, BadVariablesAreNamedAsTyped) {
  HostFacts facts = plain_facts();
  facts.env.set("PET_NNODES", "x");
  EXPECT_THAT(fault_of({}, facts), HasSubstr("PET_NNODES=x: expected"));
}

TEST(Config, WorkersInheritTheEnvironmentAndWhatLaunchersAdd) {
  HostFacts facts = plain_facts();
  facts.env.set("HOME", "/root");
  const Environment env = config_of({}, facts).worker_env;
  EXPECT_EQ(env.get("HOME"), "/root");
  EXPECT_EQ(env.get("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "1");
  EXPECT_EQ(env.get("TORCHELASTIC_SIGNALS_TO_HANDLE"), "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  EXPECT_EQ(env.get("OMP_NUM_THREADS"), std::nullopt);
  facts.env.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0");
  EXPECT_EQ(config_of({}, facts).worker_env.get("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "0");
}

TEST(Config, SeveralWorkersGetOneThreadEachUnlessTheUserSaysOtherwise) {
  HostFacts facts = plain_facts();
  const Config config = config_of({"--nproc-per-node=2"}, facts);
  EXPECT_EQ(config.worker_env.get("OMP_NUM_THREADS"), "1");
  EXPECT_THAT(config.notices, ElementsAre(HasSubstr("OMP_NUM_THREADS is not set")));
  facts.env.set("OMP_NUM_THREADS", "4");
  const Config chosen = config_of({"--nproc-per-node=2"}, facts);
  EXPECT_EQ(chosen.worker_env.get("OMP_NUM_THREADS"), "4");
  EXPECT_THAT(chosen.notices, IsEmpty());
}

TEST(Config, IdenticalWorkersAreDeclaredByTheirVariable) {
  HostFacts facts = plain_facts();
  facts.env.set("TORCH_ELASTIC_WORKER_IDENTICAL", "1");
  EXPECT_TRUE(config_of({}, facts).identical_workers);
  facts.env.set("TORCH_ELASTIC_WORKER_IDENTICAL", "0");
  EXPECT_FALSE(config_of({}, facts).identical_workers);
}

}  // namespace
}  // namespace launch
