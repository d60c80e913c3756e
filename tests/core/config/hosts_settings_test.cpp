#include "launch/core/config/hosts_settings.hpp"

#include "planning.hpp"

#include <chrono>

namespace launch::hosts_settings_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Args names_of(const HostsPlan& plan) {
  Args names;
  for (const HeadNode& node : plan.head.nodes) names.push_back(node.host);
  EXPECT_EQ(plan.hosts.size(), plan.head.nodes.size());
  return names;
}

// ---- what is refused

TEST(HostsSettings, WhetherTheLineSpeaksOfHosts) {
  EXPECT_FALSE(names_hosts(options_of({})));
  EXPECT_FALSE(names_hosts(options_of({"--fanout=3", "--ssh=rsh"})));
  EXPECT_TRUE(names_hosts(options_of({"--hosts=n1"})));
  EXPECT_TRUE(names_hosts(options_of({"--hostfile=f"})));
  EXPECT_TRUE(names_hosts(options_of({"--check"})));
}

TEST(HostsSettings, WhatLaunchFindsOutItselfIsRefused) {
  EXPECT_EQ(refusal({"--hosts=n1,n2", "--node-rank=0"}),
            "--node-rank: with --hosts, launch counts the nodes itself; leave it out");
  for (const char* option : {"--master-addr", "--rdzv-endpoint"})
    EXPECT_EQ(refusal({"--hosts=n1,n2", std::string(option) + "=n1:1"}),
              std::string(option) +
                  ": with --hosts, launch finds the address of node 0 itself (--network chooses it); leave it out");
  EXPECT_EQ(refusal({"--hosts=n1,n2", "--standalone"}),
            "--standalone: with --hosts, there may be several nodes; leave it out");
  EXPECT_THAT(refusal({"--hosts=n1,n2"}, facts_of({{"PET_NODE_RANK", "1"}})),
              StartsWith("PET_NODE_RANK: with --hosts"));
  EXPECT_THAT(names_of(plan_of({"--hosts=n1,n2", "--rdzv-endpoint="}, facts_of({{"PET_STANDALONE", "0"}}))),
              ElementsAre("n1", "n2"));
}

struct Refused {
  Args args;
  const char* words;
};

TEST(HostsSettings, EachRefusalNamesItsOption) {
  for (const Refused& one : std::vector<Refused>{
           {{"--hosts=n1", "--hostfile=f"}, "--hostfile f: --hosts names the hosts already; give one of the two"},
           {{"--hosts=n1,n1"}, "--hosts n1,n1: n1 is named twice"},
           {{"--hosts=-n1"}, "--hosts -n1: "},
           {{"--hosts=n1", "--include=n2"}, "--include n2: n2 is not in the list of hosts"},
           {{"--hosts=n1", "--exclude=n1"}, "--exclude n1: no host is left"},
           {{"--hosts=n1,n2", "--include=n1", "--exclude=n2"}, "contradict each other"},
           {{"--hosts=n1", "--start-with=rsh"}, "--start-with rsh: expected auto, ssh, srun or exec:COMMAND"},
           {{"--hosts=n1", "--start-with=exec: "}, "expected a command after exec:, as in"},
           {{"--hosts=n1", "--start-with=srun"}, "this is not in an allocation of Slurm (SLURM_JOB_ID is not set)"},
           {{"--hosts=n1", "--fanout=0"}, "--fanout 0: expected hosts from 1 to 4096"},
           {{"--hosts=n1", "--fanout=4097"}, "--fanout 4097: expected hosts from 1 to 4096"},
           {{"--hosts=n1,n2", "--nnodes=3"}, "--nnodes 3: there are 2 hosts (--hosts)"},
           {{"--hosts=n1", "--nnodes=2"}, "--nnodes 2: there are 1 host (--hosts)"},
           {{"--hosts=n1,n2,+n3", "--nnodes=3"}, "--nnodes 3: there are 2 hosts (--hosts)"},
           {{"--hosts=n1,n2", "--nnodes=1:3", "--rdzv-backend=c10d"}, "--nnodes 1:3: there are 2 hosts (--hosts)"},
           {{"--hosts=n1", "--nnodes=0"}, "--nnodes 0: expected a number of nodes, or MIN:MAX"},
           {{"--hosts=n1,n2", "--nnodes=2:1"}, "--nnodes 2:1: expected a number of nodes, or MIN:MAX"},
           {{"--hosts=n1", "--nnodes=x"}, "--nnodes x: expected a number of nodes, or MIN:MAX"},
           {{"--hosts=n1,n2+1"}, "a job of one node has no spares"},
           {{"--hosts=n1,n2,n3+1", "--nnodes=1"}, "a job of one node has no spares"},
           {{"--hosts=n1,n2,+n3", "--rdzv-backend=static"}, "--rdzv-backend static: a job with spares is elastic"},
           {{"--hosts=n1", "--rdzv-backend=c10d", "--rdzv-conf=store_type=file"},
            "--rdzv-conf store_type=file: with --hosts, launch hosts the store; leave store_type=file out"},
           {{"--hosts=n1", "--rdzv-backend=etcd"},
            "--rdzv-backend etcd: with --hosts, launch hosts the store; it must be static or c10d"},
           {{"--hosts=n1", "--master-port=65536"}, "--master-port 65536 is not a possible port (1 to 65535)"},
           {{"--hosts=n1", "--master-port=-1"}, "--master-port -1 is not a possible port"},
           {{"--hosts=n1", "--verdict=xml"}, "--verdict xml: expected text, json or json:FILE"},
           {{"--hosts=n1", "--env=A"}, "--env A: it is not set here"},
           {{"--hosts=n1", "--env=A=1", "--env=1=1"}, "is not the name of a variable"},
           {{"--hosts=auto"}, "--hosts auto: there is no allocation"}})
    EXPECT_THAT(refusal(one.args), HasSubstr(one.words));
  EXPECT_THAT(refusal({"--hosts=n1"}, facts_of({{"LAUNCH_SSH", "   "}})), HasSubstr("LAUNCH_SSH"));
}

// ---- who the nodes are

TEST(HostsSettings, TheOrderIsThatOfTheNodes) {
  const HostsPlan plan = plan_of({"--hosts=b,me@a:4,n[1-2]"});
  EXPECT_THAT(names_of(plan), ElementsAre("b", "me@a", "n1", "n2"));
  EXPECT_THAT(plan.head.nodes[0].options, IsEmpty());
  EXPECT_THAT(plan.head.nodes[1].options, ElementsAre("--nproc-per-node=4"));
  EXPECT_EQ(plan.head.nnodes, "4");
  EXPECT_FALSE(plan.head.c10d);
  EXPECT_EQ(plan.hosts[1].user, "me");
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(HostsSettings, AHostFile) {
  HeadFacts facts = facts_of();
  facts.host_file = "n1 slots=2\nn2 slots=4 port=2222\n";
  const HostsPlan plan = plan_of({"--hostfile=f"}, facts);
  EXPECT_THAT(names_of(plan), ElementsAre("n1", "n2"));
  EXPECT_THAT(plan.head.nodes[1].options, ElementsAre("--nproc-per-node=4"));
  EXPECT_EQ(plan.hosts[1].port, 2222);
  facts.host_file = "n1:2 binding=user:0\n";
  EXPECT_THAT(plan_of({"--hostfile=f"}, facts).notices, ElementsAre(StartsWith("f: ")));
  facts.host_file = "n1 slots=x\n";
  EXPECT_THAT(refusal({"--hostfile=f"}, facts), AllOf(StartsWith("--hostfile f: "), HasSubstr("1")));
}

TEST(HostsSettings, IncludeAndExclude) {
  EXPECT_THAT(names_of(plan_of({"--hosts=n[1-4]", "--exclude=n2"})), ElementsAre("n1", "n3", "n4"));
  const HostsPlan plan = plan_of({"--hosts=n[1-4]:4", "--include=n1@n3:0,2"});
  EXPECT_THAT(names_of(plan), ElementsAre("n1", "n3"));
  EXPECT_THAT(plan.head.nodes[0].env, IsEmpty());
  EXPECT_THAT(plan.head.nodes[1].env, ElementsAre("CUDA_VISIBLE_DEVICES=0,2"));
  EXPECT_THAT(plan.head.nodes[1].options, ElementsAre("--nproc-per-node=2"));
  EXPECT_EQ(plan.head.nnodes, "2");
}

struct Nodes {
  Args args;
  Args hosts;
  const char* nnodes;
  bool c10d;
};

TEST(HostsSettings, HowManyNodes) {
  for (const Nodes& one :
       std::vector<Nodes>{{{"--hosts=n[1-3]"}, {"n1", "n2", "n3"}, "3", false},
                          {{"--hosts=n[1-3]", "--nnodes=2"}, {"n1", "n2"}, "2", false},
                          {{"--hosts=n[1-3]", "--nnodes=1:2"}, {"n1", "n2"}, "1:2", false},
                          {{"--hosts=n[1-3]", "--rdzv-backend=c10d"}, {"n1", "n2", "n3"}, "3", true},
                          {{"--hosts=n[1-3]", "--rdzv-backend=c10d", "--nnodes=2"}, {"n1", "n2"}, "2", true},
                          {{"--hosts=n[1-3]", "--rdzv-backend=c10d", "--nnodes=1"}, {"n1"}, "1", true},
                          {{"--hosts=n[1-3]", "--rdzv-backend=c10d", "--nnodes=1:2"}, {"n1", "n2", "n3"}, "1:2", true},
                          {{"--hosts=n[1-3]+1"}, {"n1", "n2", "n3"}, "2", true},
                          {{"--hosts=+n1,n2,n3"}, {"n2", "n3", "n1"}, "2", true},
                          {{"--hosts=n[1-4]+1", "--nnodes=2:3"}, {"n1", "n2", "n3", "n4"}, "2:3", true},
                          {{"--hosts=n[1-4]+1", "--nnodes=2"}, {"n1", "n2", "n3", "n4"}, "2", true}}) {
    const HostsPlan plan = plan_of(one.args);
    EXPECT_THAT(names_of(plan), ElementsAreArray(one.hosts)) << one.args.back();
    EXPECT_EQ(plan.head.nnodes, one.nnodes);
    EXPECT_EQ(plan.head.c10d, one.c10d);
    EXPECT_EQ(std::count(plan.head.options.begin(), plan.head.options.end(), "--rdzv-backend=c10d") > 0, one.c10d);
  }
  EXPECT_EQ(plan_of({"--hosts=n1,n2"}, facts_of({{"PET_NNODES", "1"}})).head.nnodes, "1");
  EXPECT_TRUE(plan_of({"--hosts=n1,n2"}, facts_of({{"PET_RDZV_BACKEND", "c10d"}})).head.c10d);
}

// ---- an allocation

TEST(HostsSettings, ACheckLeavesNothing) {
  const HostsPlan plan = plan_of({"--check", "--hosts=n1,n2", "--detach", "--gather-logs=G", "--log-dir=L"});
  EXPECT_EQ(plan.detach_file, "");
  EXPECT_EQ(plan.gather_folder, "");
  EXPECT_FALSE(plan.head.gathers_logs);
}

TEST(HostsSettings, SparesMayTakeOverUnlessTheUserSaysOtherwise) {
  EXPECT_THAT(plan_of({"--hosts=n[1-3],n4+2"}).head.options, Contains("--max-restarts=2"));
  const auto told = plan_of({"--hosts=n1,n2,n3+1", "--max-restarts=0"}).head.options;
  EXPECT_THAT(told, Contains("--max-restarts=0"));
  EXPECT_THAT(told, Not(Contains("--max-restarts=1")));
  EXPECT_THAT(plan_of({"--hosts=n1,n2"}).head.options, Each(Not(StartsWith("--max-restarts"))));
}

TEST(HostsSettings, ManyHostsStartEachOther) {
  const auto starters = [](const HostsPlan& plan) {
    std::vector<int> found;
    for (const HeadNode& node : plan.head.nodes) found.push_back(node.starter);
    return found;
  };
  EXPECT_THAT(starters(plan_of({"--hosts=n[1-6]", "--fanout=1"})), ElementsAre(-1, -1, -1, 0, 1, 2));
  EXPECT_THAT(starters(plan_of({"--hosts=n[1-4]", "--fanout=1"})), Each(-1));
  EXPECT_THAT(starters(plan_of({"--hosts=n[1-4],localhost,n5", "--fanout=1"})), ElementsAre(-1, -1, -1, 0, -1, 2))
      << "this host is the head's";
  EXPECT_THAT(
      starters(plan_of({"--hosts=n[1-6]", "--fanout=1", "--start-with=srun"}, facts_of({{"SLURM_JOB_ID", "7"}}))),
      Each(-1))
      << "Slurm has a tree of its own";
}

TEST(HostsSettings, AutoInSlurm) {
  const HeadFacts facts = facts_of({{"SLURM_JOB_ID", "3"}, {"SLURM_JOB_NODELIST", "n[1-2],m7"}});
  const HostsPlan plan = plan_of({"--hosts=auto"}, facts);
  EXPECT_THAT(names_of(plan), ElementsAre("n1", "n2", "m7"));
  EXPECT_EQ(plan.start.by, StartChoice::By::srun);
  EXPECT_EQ(plan_of({"--hosts=auto", "--start-with=ssh"}, facts).start.by, StartChoice::By::ssh);
  EXPECT_EQ(plan_of({"--hosts=n1"}, facts).start.by, StartChoice::By::ssh) << "it may be outside";
  EXPECT_EQ(plan_of({"--hosts=n1", "--start-with=srun"}, facts).start.by, StartChoice::By::srun);
  EXPECT_THAT(names_of(plan_of({"--hosts=auto", "--exclude=n2", "--nnodes=1"}, facts)), ElementsAre("n1"));
  EXPECT_THAT(refusal({"--hosts=auto"}, facts_of({{"SLURM_JOB_NODELIST", "n[1"}})),
              StartsWith("SLURM_JOB_NODELIST=n[1: "));
}

TEST(HostsSettings, AutoInPbs) {
  HeadFacts facts = facts_of({{"PBS_JOBID", "7.pbs"}, {"PBS_NODEFILE", "/var/nodes"}});
  facts.batch_file = "n1\nn1\nn2\nn2\n";
  const HostsPlan plan = plan_of({"--hosts=auto"}, facts);
  EXPECT_THAT(names_of(plan), ElementsAre("n1", "n2"));
  EXPECT_THAT(plan.head.nodes[0].options, IsEmpty()) << "its slots are processors";
  EXPECT_EQ(plan.start.by, StartChoice::By::ssh);
  facts.batch_file = "n1 slots=x\n";
  EXPECT_THAT(refusal({"--hosts=auto"}, facts), StartsWith("/var/nodes: "));
}

TEST(HostsSettings, AutoInLsf) {
  EXPECT_THAT(names_of(plan_of({"--hosts=auto"}, facts_of({{"LSB_MCPU_HOSTS", "n1 8 n2 8 n1 2"}}))),
              ElementsAre("n1", "n2"));
  EXPECT_THAT(names_of(plan_of({"--hosts=auto"},
                               facts_of({{"LSB_MCPU_HOSTS", "batch 1 n1 42 n2 42"}, {"LSB_DJOB_RANKFILE", "/tmp/f"}}))),
              ElementsAre("n1", "n2"));
}

// ---- how they are started

TEST(HostsSettings, StartWith) {
  EXPECT_EQ(plan_of({"--hosts=n1"}).start.by, StartChoice::By::ssh);
  const StartChoice start = plan_of({"--hosts=n1", "--start-with=exec: docker exec -i {host} "}).start;
  EXPECT_EQ(start.by, StartChoice::By::command);
  EXPECT_EQ(start.command, "docker exec -i {host}");
  EXPECT_EQ(start.self, "/opt/launch");
  EXPECT_THAT(start.own_names, ElementsAre("login"));
}

TEST(HostsSettings, WordsOfSsh) {
  EXPECT_THAT(plan_of({"--hosts=n1"}).start.ssh, ElementsAre("ssh"));
  EXPECT_THAT(plan_of({"--hosts=n1", "--ssh= ssh  -J bastion "}).start.ssh, ElementsAre("ssh", "-J", "bastion"));
  const HeadFacts facts = facts_of({{"LAUNCH_SSH", "rsh"}});
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).start.ssh, ElementsAre("rsh"));
  EXPECT_THAT(plan_of({"--hosts=n1", "--ssh=ssh"}, facts).start.ssh, ElementsAre("ssh"));
}

TEST(HostsSettings, WhatTheHeadKeeps) {
  const HostsPlan plan =
      plan_of({"--hosts=n1,n2", "--fanout=7", "--network=ib0", "--rdzv-id=mine", "--master-port=4000",
               "--verdict=json:out", "--cluster=slurm", "--nnodes=2", "--include=n1@n2"});
  EXPECT_EQ(plan.head.fanout, 7);
  EXPECT_EQ(plan.head.network, "ib0");
  EXPECT_EQ(plan.head.run_id, "mine");
  EXPECT_EQ(plan.head.port, 4000);
  EXPECT_EQ(plan.head.folder, "/work");
  EXPECT_EQ(plan.head.umask, 027);
  EXPECT_EQ(plan.head.version, LAUNCH_VERSION);
  EXPECT_EQ(plan.verdict.file, "out");
  EXPECT_FALSE(plan.verdict.json);
  EXPECT_THAT(plan.head.options, ElementsAre(StartsWith("--log-line-prefix-template=")))
      << "nodes are told none of it, or by the head";
  EXPECT_THAT(plan.head.program, ElementsAre("train.py", "--lr", "3"));
  const HostsPlan plain = plan_of({"--hosts=n1"});
  EXPECT_EQ(plain.head.fanout, 64);
  EXPECT_EQ(plain.head.silence, longest_host_silence);
  EXPECT_EQ(plan_of({"--hosts=n1", "--heartbeat-timeout=3"}).head.silence, std::chrono::seconds(3));
  EXPECT_EQ(plain.head.port, 0);
  EXPECT_EQ(plain.head.run_id, "fresh");
  EXPECT_EQ(plan_of({"--hosts=n1", "--rdzv-id="}).head.run_id, "fresh");
  EXPECT_TRUE(plan_of({"--hosts=n1", "--verdict=json"}).verdict.json);
}

// ---- what the nodes are told

TEST(HostsSettings, OptionsOfTheNodesStayAsTyped) {
  EXPECT_THAT(
      plan_of({"--hosts", "n1", "--nproc-per-node", "2", "-m", "--max-restarts=3", "--redirects=3"}).head.options,
      ElementsAre("--nproc-per-node=2", "--module", "--max-restarts=3", "--redirects=3",
                  "--log-line-prefix-template=[${host}:${role_name}${local_rank}]:"));
}

TEST(HostsSettings, NodesAreToldHowMuchToSayIfTheUserHasSaidIt) {
  const auto has_quiet = [](const Args& args) {
    const Args& options = plan_of(args).head.options;
    return std::count(options.begin(), options.end(), "--quiet");
  };
  EXPECT_EQ(has_quiet({"--hosts=n1"}), 0);
  EXPECT_EQ(has_quiet({"--hosts=n1", "--quiet"}), 1);
  EXPECT_EQ(has_quiet({"--hosts=n1", "--verbose"}), 0);
  EXPECT_EQ(plan_of({"--hosts=n1"}).verbosity, Verbosity::usual);
  EXPECT_EQ(plan_of({"--hosts=n1", "-q"}).verbosity, Verbosity::quiet);
  EXPECT_EQ(plan_of({"--hosts=n1", "-v"}).verbosity, Verbosity::verbose);
}

TEST(HostsSettings, TheLogLevelIsThatOfTheHeadAndOfItsNodes) {
  const auto level = [](const char* name) { return plan_of({"--hosts=n1"}, facts_of({{"LOGLEVEL", name}})); };
  EXPECT_EQ(level("WARNING").verbosity, Verbosity::quiet);
  EXPECT_THAT(level("WARNING").head.options, Contains("--quiet"));
  EXPECT_EQ(level("DEBUG").verbosity, Verbosity::verbose);
  EXPECT_THAT(level("DEBUG").head.options, Contains("--verbose"));
  EXPECT_THAT(level("DEBUG").head.options, Not(Contains("--quiet")));
}

TEST(HostsSettings, WithoutItsVariablesANodeGetsTheirOptions) {
  const HeadFacts facts = facts_of({{"PET_NPROC_PER_NODE", "8"}, {"PET_MAX_RESTARTS", "3"}, {"PET_NNODES", "1"}});
  EXPECT_THAT(plan_of({"--hosts=n1", "--env-none", "--max-restarts=2"}, facts).head.options,
              ElementsAre("--nproc-per-node=8", "--max-restarts=3", "--max-restarts=2",
                          StartsWith("--log-line-prefix-template=")));
}

TEST(HostsSettings, SignalsOfTheJob) {
  const HostsPlan plan = plan_of({"--hosts=n1", "--signals-to-handle=SIGTERM,SIGXCPU", "--preempt-signal=SIGURG"});
  EXPECT_THAT(plan.signals, ElementsAre(SIGTERM, SIGXCPU));
  EXPECT_EQ(plan.preemption.signal, SIGURG);
  EXPECT_EQ(plan_of({"--hosts=n1"}).preemption.signal, 0);
}

TEST(HostsSettings, TheExitCodeOfAJobThatShouldBeStartedAgain) {
  EXPECT_EQ(plan_of({"--hosts=n1"}).head.requeue_exit, 0);
  EXPECT_EQ(plan_of({"--hosts=n1", "--requeue-on=warned"}).head.requeue_exit, 75);
  EXPECT_EQ(plan_of({"--hosts=n1", "--requeue-on=7", "--requeue-exit=140"}).head.requeue_exit, 140);
  EXPECT_EQ(plan_of({"--hosts=n1", "--requeue-exit=140"}).head.requeue_exit, 0) << "nothing leads to it";
}

TEST(HostsSettings, LinesBeginWithTheHostUnlessTheUserHasSaidHow) {
  EXPECT_THAT(plan_of({"--hosts=n1", "--log-line-prefix-template=x"}).head.options,
              ElementsAre("--log-line-prefix-template=x"));
  for (const char* variable : {"PET_LOG_LINE_PREFIX_TEMPLATE", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"})
    EXPECT_THAT(plan_of({"--hosts=n1"}, facts_of({{variable, "y"}})).head.options,
                ElementsAre("--log-line-prefix-template=y"));
}

TEST(HostsSettings, ColorIsThatOfThisTerminal) {
  HeadFacts facts = facts_of();
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).head.options, Not(Contains("--color=always")));
  facts.terminal = true;
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).head.options, Contains("--color=always"));
  EXPECT_THAT(plan_of({"--hosts=n1", "--color=never"}, facts).head.options, Not(Contains("--color=always")));
  facts.env.set("NO_COLOR", "1");
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).head.options, Not(Contains("--color=always")));
  facts.env.set("NO_COLOR", "");
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).head.options, Contains("--color=always"));
}

TEST(HostsSettings, OutputIsKeptThereUnlessTheUserKeepsIt) {
  EXPECT_TRUE(plan_of({"--hosts=n1"}).head.keeps_output);
  for (const char* option : {"--tee=3", "--redirects=1", "--log-dir=logs"})
    EXPECT_FALSE(plan_of({"--hosts=n1", option}).head.keeps_output) << option;
  for (const char* variable : {"PET_TEE", "PET_REDIRECTS", "PET_LOG_DIR"})
    EXPECT_FALSE(plan_of({"--hosts=n1"}, facts_of({{variable, "1"}})).head.keeps_output) << variable;
}

TEST(HostsSettings, TheirEnvironment) {
  const HeadFacts facts = facts_of({{"PATH", "/bin"},
                                    {"HOME", "/root"},
                                    {"FOO", "1"},
                                    {"SSH_TTY", "x"},
                                    {"PET_NNODES", "1"},
                                    {"PET_MAX_RESTARTS", "3"},
                                    {"CUDA_VISIBLE_DEVICES", "0"}});
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).head.env, ElementsAre("FOO=1", "PATH=/bin", "PET_MAX_RESTARTS=3"));
  EXPECT_THAT(plan_of({"--hosts=n1", "--env=A=1,2", "--env", "CUDA_VISIBLE_DEVICES", "--env=A=3"}, facts).head.env,
              ElementsAre("A=3", "CUDA_VISIBLE_DEVICES=0", "FOO=1", "PATH=/bin", "PET_MAX_RESTARTS=3"));
  EXPECT_THAT(plan_of({"--hosts=n1", "--env-none", "--env=FOO"}, facts).head.env, ElementsAre("FOO=1", "PATH=/bin"));
  EXPECT_THAT(plan_of({"--hosts=n1"}, facts).local_env,
              ElementsAre("CUDA_VISIBLE_DEVICES=0", "HOME=/root", "PATH=/bin"));
  EXPECT_THAT(plan_of({"--hosts=n1", "--env-none"}, facts).local_env, ElementsAre("HOME=/root", "PATH=/bin"));
}

// What the head makes of the plan is a line that each node takes, without a word about it.
TEST(HostsSettings, TheLinesSettle) {
  for (const Args& args : {Args{"--hosts=n1"}, Args{"--hosts=n1", "--master-port=4000"},
                           Args{"--hosts=n1", "--rdzv-backend=c10d", "--master-port=4000"}, Args{"--hosts=n1:3,n2"},
                           Args{"--hosts=n1,n2", "--master-port=4000", "--rdzv-id=", "--nproc-per-node=2"},
                           Args{"--hosts=n1,n2", "--rdzv-backend=c10d", "--nnodes=1:2", "--master-port=0"},
                           Args{"--hosts=n1,n2,n3+1", "-v"}}) {
    const HostsPlan plan = plan_of(args);
    const int nodes = static_cast<int>(plan.hosts.size());
    Head head(plan.head, 1);
    head.start(Time());
    for (int node = 0; node < nodes; ++node)
      for (const HeadAction& action : head.on_greeting(node, {host_protocol, plan.head.version, 1, "h"}, Time())) {
        const NodeJob job = std::get<NodeJob>(std::get<TellHost>(action).message);
        const auto command = parse_command(job.args, {});
        ASSERT_TRUE(command) << command.error().message;
        const auto config = settle(std::get<Options>(*command), facts_with({{"OMP_NUM_THREADS", "1"}}));
        ASSERT_TRUE(config) << config.error().message;
        EXPECT_THAT(config->notices, IsEmpty()) << args.back();
        EXPECT_EQ(config->nnodes() > 1, nodes > 1);
        EXPECT_EQ(config->program.argv.back(), "3");
      }
  }
}

}  // namespace launch::hosts_settings_test
