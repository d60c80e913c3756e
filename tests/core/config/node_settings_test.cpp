#include "launch/core/config/node_settings.hpp"

#include "settling.hpp"

namespace launch::node_settings_test {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The four flags of a two-node job, and more.
Args two_nodes(const Args& more) {
  Args args{"--nnodes=2", "--node-rank=1", "--master-addr=node0", "--master-port=4000"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(NodeSettings, TheFourFlagsOfATwoNodeJob) {
  const Config config = config_of(two_nodes({"--nproc-per-node=1"}));
  EXPECT_EQ(config.nnodes(), 2);
  EXPECT_EQ(config.node_rank(), NodeRank(1));
  EXPECT_EQ(config.store(), (Endpoint{"node0", 4000}));
  EXPECT_EQ(config.run_id, "none");
  EXPECT_THAT(config.notices, IsEmpty());
}

TEST(NodeSettings, TheJobSizeIsTheMaximum) {
  EXPECT_EQ(config_of({"--nnodes=2:5", "--master-addr=a"}).nnodes(), 5);
  EXPECT_EQ(config_of({"--nnodes=1:1"}).nnodes(), 1);
}

TEST(NodeSettings, MasterPortDefaultsOnlyWhereNodesMustFindIt) {
  EXPECT_EQ(config_of({"--nnodes=2", "--master-addr=a"}).store(), (Endpoint{"a", 29500}));
  EXPECT_EQ(config_of({"--master-port=5000"}).store(), (Endpoint{"127.0.0.1", 5000}));
  EXPECT_EQ(config_of({"--master-port=5000"}).run_id, "none");
  EXPECT_EQ(config_of({"--master-port=0"}).store(), (Endpoint{"127.0.0.1", 0}));
}

TEST(NodeSettings, OneNodeKeepsAGivenRunIdAndSaysThatTheAddressIsIgnored) {
  const Config config = config_of({"--rdzv-id=job7", "--master-addr=elsewhere"});
  EXPECT_EQ(config.run_id, "job7");
  EXPECT_EQ(config.store(), (Endpoint{"127.0.0.1", 0}));
  EXPECT_THAT(config.notices, ElementsAre(HasSubstr("--master-addr ignored")));
}

TEST(NodeSettings, AnEmptyRunIdIsAFreshOneOnOneNodeAndAnErrorOnSeveral) {
  EXPECT_EQ(config_of({"--rdzv-id="}).run_id, "fresh");
  EXPECT_EQ(config_of({"--rdzv-id=", "--master-port=1"}).run_id, "fresh");
  EXPECT_THAT(fault_of(two_nodes({"--rdzv-id="})), HasSubstr("--rdzv-id is empty"));
}

// Nodes under torchrun keep them as well, and would never meet us.
TEST(NodeSettings, BlanksBelongToARunId) {
  EXPECT_EQ(config_of(two_nodes({"--rdzv-id= s "})).run_id, " s ");
  EXPECT_EQ(config_of(two_nodes({"--rdzv-id=  "})).run_id, "  ");
  EXPECT_EQ(config_of({"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-id=\ts"}).run_id, "\ts");
  EXPECT_EQ(config_of({"--rdzv-id= s "}).run_id, " s ");
}

TEST(NodeSettings, StandaloneIgnoresEveryGivenMeetingPlaceAndSaysSo) {
  HostFacts facts = plain_facts();
  facts.env.set("PET_MASTER_PORT", "99999");
  const Config config = config_of({"--standalone", "--rdzv-backend=c10d", "--rdzv-endpoint=h", "--rdzv-id=x"}, facts);
  EXPECT_EQ(config.store(), (Endpoint{"127.0.0.1", 0}));
  EXPECT_EQ(config.run_id, "fresh");
  EXPECT_THAT(
      config.notices,
      ElementsAre(HasSubstr("--rdzv-backend, --rdzv-endpoint, --rdzv-id, PET_MASTER_PORT ignored: --standalone")));
}

TEST(NodeSettings, TheEndpointWinsOverAddressAndPort) {
  const Config config = config_of(two_nodes({"--rdzv-endpoint=[::1]:77"}));
  EXPECT_EQ(config.store(), (Endpoint{"::1", 77}));
  EXPECT_THAT(config.notices, ElementsAre(HasSubstr("--master-addr, --master-port ignored: --rdzv-endpoint wins")));
}

TEST(NodeSettings, OneNodeMayListenOnAnyFreePort) {
  EXPECT_EQ(config_of({"--rdzv-endpoint=localhost:0"}).store(), (Endpoint{"localhost", 0}));
}

TEST(NodeSettings, SeveralNodesWithoutAnAddressAreWarned) {
  EXPECT_THAT(config_of({"--nnodes=2"}).notices, ElementsAre(HasSubstr("--master-addr is not given")));
}

TEST(NodeSettings, BadInputIsOneClearLineThatNamesItsOrigin) {
  expect_faults({
      {{"--nnodes", "0"}, "--nnodes 0 is not a possible number of nodes (1 to 100000"},
      {{"--nnodes=-2"}, "--nnodes -2 is not a possible"},
      {{"--nnodes=0:2"}, "--nnodes 0:2 is not a possible"},
      {{"--nnodes=99999999999"}, "--nnodes 99999999999 is not a possible"},
      {{"--nnodes=3:2"}, "--nnodes 3:2: MIN is above MAX"},
      {{"--nnodes=x"}, "--nnodes x: expected a number of nodes, or MIN:MAX"},
      {{"--nnodes=1:2:3"}, "--nnodes 1:2:3: expected a number of nodes, or MIN:MAX"},
      {{"--nnodes=1:"}, "expected a number of nodes, or MIN:MAX"},
      {{"--nnodes=2", "--node-rank=2"}, "--node-rank 2 is outside 0..1 (2 nodes, counted from 0)"},
      {two_nodes({"--master-port=99999"}), "--master-port 99999 is not a possible port (1 to 65535"},
      {two_nodes({"--master-port=-1"}), "--master-port -1 is not a possible port (1 to 65535"},
      {two_nodes({"--master-port=0"}), "--master-port 0: port 0 (any free one) is for one node"},
      {{"--master-port=99999"}, "--master-port 99999 is not a possible port (1 to 65535"},
      {two_nodes({"--master-addr=h:1"}), "--master-addr h:1: expected a host without a port; --master-port"},
      {two_nodes({"--master-addr=my host"}), "--master-addr \"my host\": a host name consists of"},
      {two_nodes({"--rdzv-endpoint=h"}), "--rdzv-endpoint h: the port is missing"},
      {two_nodes({"--rdzv-endpoint=h:0"}), "--rdzv-endpoint h:0: port 0 (any free one) is for one node"},
      {two_nodes({"--rdzv-endpoint=h:99999"}), "--rdzv-endpoint h:99999: the port 99999 is not a number"},
      {{"--rdzv-conf=a="}, "--rdzv-conf a=: the key a has no value"},
      {{"--rdzv-conf=a=1,"}, "--rdzv-conf a=1,: an entry has no key"},
      {{"--rdzv-conf=timeout=0"}, "--rdzv-conf timeout=0: expected a timeout above 0 seconds"},
      {{"--rdzv-conf=timeout=soon"}, "--rdzv-conf timeout=soon: expected a timeout"},
      {{"--standalone", "--nnodes=2"}, "--standalone is for one node, but --nnodes 2 says 2"},
      {{"--rdzv-backend=bogus"}, "--rdzv-backend bogus: must be static, c10d, etcd-v2 or etcd"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-endpoint=h:0"}, "--rdzv-endpoint h:0: port 0"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-id="}, "--rdzv-id is empty"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-conf=join_timeout=0"},
       "join_timeout must be a whole number above 0"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-conf=last_call_timeout=10000001"},
       "last_call_timeout must be 10000000 at most"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-conf=keep_alive_interval=10001"},
       "keep_alive_interval must be 10000 at most"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-conf=is_host=perhaps"}, "is_host must be true or false"},
      {{"--rdzv-backend=c10d", "--rdzv-endpoint=h/x:1"}, "--rdzv-endpoint h/x:1: "},
      {{"--rdzv-endpoint=localhost"}, "--rdzv-endpoint localhost: the port is missing"},
      {{"--node-rank=1", "--master-port=5000"}, "--node-rank 1 is outside 0..0 (1 node, counted from 0)"},
      {{"--rdzv-conf=endpoint=a"}, "--rdzv-conf endpoint=a: endpoint has an option of its own"},
      {{"--rdzv-backend=c10d", "--rdzv-conf=read_timeout=0"}, "read_timeout must be a whole number above 0"},
      {{"--rdzv-backend=c10d", "--rdzv-conf=join_timeout=x"}, "join_timeout must be a whole number above 0"},
      {{"--rdzv-backend=c10d", "--rdzv-conf=is_host=maybe"}, "is_host must be true or false"},
      {{"--rdzv-backend=c10d", "--rdzv-conf=store_type=zz"}, "store_type must be tcp or file"},
      {{"--join=never"}, "--join never: expected any or between-restarts"},
      {{"--rdzv-backend=c10d", "--nnodes=2", "--join=Any"}, "--join Any: expected any or between-restarts"},
      {{"--quorum=all"}, "--quorum all: expected majority, host or none"},
      {{"--local-addr=a:1"}, "--local-addr a:1: expected a host without a port"},
      {{"--local-addr=a b"}, "--local-addr \"a b\": a host name"},
      {{"--master-addr=", "--master-port=5000"}, "--master-addr \"\": "},
  });
}

TEST(NodeSettings, AKeyThatHasNoEffectIsNamed) {
  const Config config = config_of({"--rdzv-conf=timeout=9,last_call_timout=5,zz=1"});
  EXPECT_THAT(config.notices,
              ElementsAre(HasSubstr(": last_call_timout is no key that launch knows, and has no effect; did you mean "
                                    "last_call_timeout?"),
                          testing::EndsWith(": zz is no key that launch knows, and has no effect")));
  for (const char* known : {"timeout=9", "join_timeout=9,read_timeout=9", "is_host=1,store_type=tcp"})
    EXPECT_THAT(config_of({"--rdzv-backend=c10d", "--rdzv-conf", known}).notices, IsEmpty()) << known;
}

TEST(NodeSettings, ARankThatOneNodeByItselfDoesNotNeedIsIgnored) {
  for (const Args& args :
       {Args{"--node-rank=3"}, Args{"--standalone", "--node-rank=3"}, Args{"--rdzv-backend=c10d", "--node-rank=3"}}) {
    const Config config = config_of(args);
    EXPECT_EQ(config.node_rank(), NodeRank(0));
    EXPECT_THAT(config.notices, ElementsAre(HasSubstr("--node-rank ignored")));
  }
}

TEST(NodeSettings, C10dOfOneNodeNeedsNoEndpointAndKeepsItsId) {
  const Config config = config_of({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--rdzv-id=j"});
  EXPECT_EQ(config.store(), (Endpoint{"127.0.0.1", 0}));
  EXPECT_EQ(config.run_id, "j");
  EXPECT_TRUE(config.serves_workers);
  EXPECT_EQ(config_of({"--rdzv-backend=c10d"}).run_id, "none");
  EXPECT_EQ(config_of({"--rdzv-backend=c10d", "--rdzv-endpoint=[::1]:0"}).store(), (Endpoint{"127.0.0.1", 0}));
}

TEST(NodeSettings, ALocalAddressBecomesTheMasterOfOneNode) {
  EXPECT_EQ(config_of({"--local-addr=node7.example"}).store(), (Endpoint{"node7.example", 0}));
  EXPECT_EQ(config_of({"--local-addr=[::1]"}).store(), (Endpoint{"::1", 0}));
  EXPECT_EQ(config_of({"--local-addr=a", "--master-port=5000"}).store(), (Endpoint{"127.0.0.1", 5000}));
}

TEST(NodeSettings, AStandaloneJobMayBeOneNodeOfARange) {
  EXPECT_EQ(config_of({"--standalone", "--nnodes=1:4"}).nnodes(), 1);
}

TEST(NodeSettings, WorkersOfOneNodeMayServeTheirOwnStore) {
  const HostFacts facts = facts_with({{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
  EXPECT_FALSE(config_of({}, facts).serves_workers);
  EXPECT_FALSE(config_of({"--standalone"}, facts).serves_workers);
  EXPECT_TRUE(config_of({"--master-port=5000"}, facts).serves_workers);
}

TEST(NodeSettings, C10dOfSeveralNodesIsElastic) {
  const std::string conf =
      "--rdzv-conf=join_timeout=60,last_call_timeout=7,keep_alive_interval=2,keep_alive_max_attempt=4,"
      "close_timeout=9,is_host=1";
  const Config config = config_of(
      {"--rdzv-backend=c10d", "--nnodes=2:4", "--rdzv-endpoint=n1:5000", "--rdzv-id=j", conf, "--local-addr=10.0.0.7"});
  ASSERT_NE(config.c10d(), nullptr);
  const ElasticSettings& settings = config.c10d()->settings;
  EXPECT_EQ(settings.nodes.min, 2);
  EXPECT_EQ(settings.nodes.max, 4);
  EXPECT_EQ(settings.join_timeout, 60s);
  EXPECT_EQ(settings.last_call_timeout, 7s);
  EXPECT_EQ(settings.close_timeout, 9s);
  EXPECT_EQ(settings.keep_alive_interval, 2s);
  EXPECT_EQ(settings.keep_alive_max_attempt, 4);
  EXPECT_EQ(config.c10d()->is_host, true);
  EXPECT_EQ(config.c10d()->address, "10.0.0.7");
  EXPECT_EQ(config.nnodes(), 4);
  EXPECT_EQ(config.node_rank(), NodeRank::none());
  EXPECT_EQ(config.run_id, "j");
  EXPECT_EQ(to_text(config.store()), "n1:5000");
}

TEST(NodeSettings, ANodeThatComesLaterMayHaveToWait) {
  const auto joins_wait = [](const Args& more) {
    Args args{"--rdzv-backend=c10d", "--nnodes=1:2", "--rdzv-endpoint=n1"};
    args.insert(args.end(), more.begin(), more.end());
    const Config config = config_of(args);
    EXPECT_THAT(config.notices, Not(Contains(HasSubstr("--join"))));
    return config.c10d()->joins_wait;
  };
  EXPECT_FALSE(joins_wait({}));
  EXPECT_FALSE(joins_wait({"--join=any"}));
  EXPECT_TRUE(joins_wait({"--join=between-restarts", "--max-membership-restarts=3"}));
}

TEST(NodeSettings, AMajorityDecidesWhereNodesMayBeMissedAndSilenceIsAFailure) {
  const auto serves = [](const std::string& nnodes, const Args& more) {
    Args args{"--rdzv-backend=c10d", "--nnodes=" + nnodes, "--rdzv-endpoint=n1"};
    args.insert(args.end(), more.begin(), more.end());
    return serves_majority(config_of(args));
  };
  EXPECT_TRUE(serves("1:2", {"--quorum=majority"}));
  EXPECT_TRUE(serves("2", {"--quorum=majority", "--max-restarts=1"}));
  EXPECT_FALSE(serves("2", {"--quorum=majority"}));
  EXPECT_FALSE(serves("1:2", {"--quorum=majority", "--heartbeat-timeout=0"}));
  EXPECT_FALSE(serves("1:2", {"--quorum=host"}));
}

TEST(NodeSettings, AnotherNodeMayHostTheStoreWhereOneOfThemDoes) {
  const auto moves = [](const Args& more) {
    Args args{"--rdzv-backend=c10d", "--nnodes=1:2", "--rdzv-endpoint=n1"};
    args.insert(args.end(), more.begin(), more.end());
    return config_of(args).c10d()->host_moves;
  };
  EXPECT_TRUE(moves({}));
  EXPECT_FALSE(moves({"--quorum=none"}));
  EXPECT_TRUE(moves({"--quorum=host"}));
  EXPECT_TRUE(moves({"--quorum=majority"}));
  const Config etcd = config_of({"--rdzv-backend=etcd-v2", "--nnodes=1:2", "--rdzv-endpoint=n1", "--quorum=host"});
  EXPECT_FALSE(etcd.c10d()->host_moves);
  EXPECT_THAT(etcd.notices, Contains(HasSubstr("--quorum ignored: no node hosts the store")));
}

TEST(NodeSettings, SeveralHostsMayHaveTheStore) {
  const Args line{"--rdzv-backend=c10d", "--nnodes=1:3", "--quorum=majority", "--rdzv-id=job"};
  const auto with = [&](const char* endpoint) {
    Args args = line;
    args.emplace_back(endpoint);
    return config_of(args);
  };
  const Config config = with("--rdzv-endpoint=n0,n1,[::1]:5000");
  EXPECT_EQ(config.store(), (Endpoint{"n0", 5000}));
  EXPECT_EQ(config.c10d()->places, (std::vector<Endpoint>{{"n0", 5000}, {"n1", 5000}, {"::1", 5000}}));
  EXPECT_EQ(config.c10d()->is_host, std::nullopt);
  EXPECT_EQ(config.store_text(), "n0:5000, n1:5000, [::1]:5000");
  EXPECT_EQ(with("--rdzv-endpoint=n0,n1").store_text(), "n0:29400, n1:29400");
  EXPECT_TRUE(with("--rdzv-endpoint=n0").c10d()->places.empty());
  EXPECT_EQ(with("--rdzv-endpoint=n0").store_text(), "n0:29400");
  const Config by_variable = config_of(line, facts_with({{"PET_RDZV_ENDPOINT", "n0:1,n1:2"}}));
  EXPECT_EQ(by_variable.store_text(), "n0:1, n1:2");
}

TEST(NodeSettings, SeveralHostsNeedC10dAndAnotherHostOfTheStore) {
  const char* const needs =
      "--rdzv-endpoint n0,n1:29400: several hosts need --rdzv-backend=c10d and --quorum=majority or host, ";
  const char* const list = "--rdzv-endpoint=n0,n1:29400";
  expect_faults({
      {{"--nnodes=2", list}, needs},
      {{"--nnodes=2", "--rdzv-backend=etcd-v2", "--quorum=host", list}, "an etcd is one host; name one of its members"},
      {{"--nnodes=2", "--rdzv-backend=c10d", list}, "several hosts need --rdzv-id, "},
      {{"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-id=none", list}, "several hosts need --rdzv-id, "},
      {{"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-id=j", "--rdzv-conf=is_host=1", list}, "leave is_host out"},
      {{"--nnodes=2", "--rdzv-backend=c10d", "--quorum=none", list}, needs},
      {{"--nnodes=2", "--rdzv-backend=c10d", "--quorum=host", "--rdzv-id=j", "--rdzv-endpoint=n0,n0:1"},
       "n0:1 is there twice"},
      {{"--nnodes=2", "--rdzv-backend=c10d", "--quorum=host", "--rdzv-id=j", "--rdzv-endpoint=n0,n1:0"}, "port 0"},
      {{"--nnodes=1", "--rdzv-backend=c10d", "--quorum=host", "--rdzv-id=j", "--rdzv-endpoint=n0,"},
       "a host is missing"},
  });
  const Config file =
      config_of({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-conf=store_type=file", "--rdzv-endpoint=/a,b"});
  EXPECT_EQ(file.store().host, "/a,b");
}

TEST(NodeSettings, WhereNodesNeitherComeNorGoItSaysThatTheirOptionsAreIgnored) {
  for (const Args& args : {Args{}, Args{"--standalone"}, Args{"--rdzv-backend=c10d"}, two_nodes({})}) {
    Args line = args;
    line.insert(line.end(), {"--join=any", "--quorum=host", "--max-membership-restarts=3"});
    const Config config = config_of(line);
    EXPECT_EQ(config.c10d(), nullptr);
    EXPECT_THAT(config.notices,
                ElementsAre(HasSubstr("--join, --quorum, --max-membership-restarts ignored: nodes join and leave")));
  }
}

TEST(NodeSettings, C10dHasTorchrunsDefaults) {
  const Config config = config_of({"--rdzv-backend=c10d", "--nnodes=2", "--rdzv-endpoint=n1", "--node-rank=1"});
  ASSERT_NE(config.c10d(), nullptr);
  EXPECT_EQ(config.c10d()->settings.join_timeout, 600s);
  EXPECT_FALSE(config.c10d()->is_host);
  EXPECT_EQ(config.store().port, 29'400);
  EXPECT_EQ(config.run_id, "none");
  EXPECT_THAT(config.notices, Contains(HasSubstr("--node-rank ignored: --rdzv-backend c10d assigns ranks")));
}

}  // namespace launch::node_settings_test
