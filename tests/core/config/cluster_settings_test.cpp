#include "launch/core/config/cluster_settings.hpp"

#include "../../support/slurm.hpp"
#include "../../support/starts.hpp"
#include "launch/core/cluster/pmi_talk.hpp"
#include "settling.hpp"

namespace launch::cluster_settings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What becomes of these arguments in the second task of a Slurm step of two nodes.
struct Settled {
  ClusterUse use;
  Options options;
  Config config;
};

std::string fault_in(const ClusterView& view, const Args& args) {
  Options options = options_of(args);
  const auto use = use_cluster(view, options);
  return use ? "" : use.error().message;
}

Result<ClusterUse> use_found(const Environment& env, const ProcessFacts& process, Options& options) {
  const auto view = find_cluster(env, process, options);
  return view ? use_cluster(*view, options) : view.error();
}

Settled settled_in(const ClusterView& view, const Args& args) {
  Settled all;
  all.options = options_of(args);
  all.use = *use_cluster(view, all.options);
  all.config = *settle(all.options, facts_with({}));
  return all;
}

ClusterView step() { return *view_cluster(slurm::step(), slurm::task()); }
Settled settled(const Args& args) { return settled_in(step(), args); }
std::string fault(const Args& args) { return fault_in(step(), args); }

// As "srun -N2 --ntasks-per-node=2": task 3, the second of the second node.
ClusterView tasks() {
  Environment env = slurm::step();
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) env.set(name, "2(x2)");
  env.set("SLURM_LOCALID", "1");
  env.set("SLURM_PROCID", "3");
  return *view_cluster(env, slurm::task());
}

TEST(ClusterSettings, WithoutAFlagTheJobHasTheNodesOfTheStep) {
  const Settled job = settled({});
  EXPECT_EQ(job.use.told, "Slurm step 3.0: 2 nodes, this is node 1 (n2), node 0 is n1");
  EXPECT_THAT(job.use.notices, IsEmpty());
  EXPECT_EQ(job.config.nnodes(), 2);
  EXPECT_EQ(job.config.node_rank(), NodeRank(1));
  EXPECT_EQ(job.config.store(), (Endpoint{"n1", step().start->port.value}));
  EXPECT_EQ(job.config.run_id, "3.0");
  EXPECT_EQ(job.config.nproc_per_node, 1) << "there is no device, and one for each CPU was not asked for";
  EXPECT_THAT(job.config.notices, IsEmpty());
}

// The console and the time to exit are the starter's.
TEST(ClusterSettings, WhatTheNodesShare) {
  const Settled job = settled({});
  EXPECT_TRUE(job.use.shares_console);
  EXPECT_TRUE(job.use.strips_identity);
  EXPECT_EQ(job.config.logs.prefix, "[${host}:${role_name}${local_rank}]:");
  EXPECT_EQ(job.config.shutdown_timeout, std::chrono::seconds(25));
  EXPECT_EQ(settled({"--shutdown-timeout=7"}).config.shutdown_timeout, std::chrono::seconds(7));
  EXPECT_FALSE(settled({"--nnodes=1"}).use.shares_console);
  EXPECT_FALSE(settled_in(tasks(), {}).use.strips_identity) << "the worker may be the task";
  const auto cloud = *view_cluster(starts::skypilot(), starts::pod("node1"));
  EXPECT_FALSE(settled_in(cloud, {}).use.shares_console);
  EXPECT_EQ(settled_in(cloud, {}).config.shutdown_timeout, std::chrono::seconds(30));
}

TEST(ClusterSettings, WhatTheUserGivesStays) {
  const Settled job =
      settled({"--nnodes=2", "--nproc-per-node=3", "--master-port=4000", "--rdzv-id=mine", "--node-rank=1"});
  EXPECT_EQ(job.config.nproc_per_node, 3);
  EXPECT_EQ(job.config.store(), (Endpoint{"n1", 4000}));
  EXPECT_EQ(job.config.run_id, "mine");
  EXPECT_EQ(settled({"--nnodes=2"}).config.nproc_per_node, 1) << "torchrun's default";
  EXPECT_EQ(settled({"--nnodes=2"}).options.nproc_per_node.source, Source::initial);
  EXPECT_EQ(settled({}).options.nproc_per_node.source, Source::cluster);
}

TEST(ClusterSettings, AJobThatIsDescribedCompletelyIsLeftAlone) {
  for (const Args& args : {Args{"--nnodes=7", "--node-rank=3", "--master-addr=elsewhere"},
                           Args{"--nnodes=7", "--node-rank=3", "--rdzv-endpoint=elsewhere:1"},
                           Args{"--nnodes=7", "--rdzv-backend=c10d", "--rdzv-endpoint=elsewhere:1"}}) {
    const Settled job = settled(args);
    EXPECT_EQ(job.use.told, "");
    EXPECT_THAT(job.use.notices, IsEmpty());
    EXPECT_EQ(job.config.nnodes(), 7);
    EXPECT_EQ(job.config.store().host, "elsewhere");
    EXPECT_EQ(job.config.run_id, "none");
  }
}

TEST(ClusterSettings, AContradictionNamesBothSources) {
  EXPECT_THAT(fault({"--nnodes=4"}), HasSubstr("--nnodes 4, but the Slurm step has 2 nodes (SLURM_STEP_NUM_NODES)"));
  EXPECT_THAT(fault({"--nnodes=3:4", "--rdzv-backend=c10d"}), HasSubstr("--nnodes 3:4, but the Slurm step has 2"));
  EXPECT_THAT(fault({"--node-rank=0"}), HasSubstr("--node-rank 0, but SLURM_NODEID says that this is node 1"));
  EXPECT_EQ(fault({"--nnodes=x"}), "") << "settle() refuses it";
}

TEST(ClusterSettings, OneNodeIsOneNode) {
  for (const char* flag : {"--standalone", "--nnodes=1"}) {
    const Settled job = settled({flag});
    EXPECT_EQ(job.config.nnodes(), 1);
    EXPECT_EQ(job.use.told, "");
    EXPECT_THAT(job.use.notices, ElementsAre(HasSubstr("Slurm step 3.0 has 2 nodes, and each of them runs a job")))
        << flag;
  }
}

TEST(ClusterSettings, AHostOrPortThatNoOtherNodeCanUseMeansOneNode) {
  for (const Args& args : {Args{"--master-addr=localhost", "--master-port=12345"}, Args{"--master-port=0"},
                           Args{"--nnodes=1:1"}, Args{"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:29400"},
                           Args{"--rdzv-backend=c10d", "--rdzv-endpoint=n7:0"}, Args{"--nnodes=01"}}) {
    const Settled job = settled(args);
    EXPECT_EQ(job.use.told, "");
    EXPECT_EQ(job.config.nnodes(), 1);
    EXPECT_THAT(job.use.notices, ElementsAre(HasSubstr("each of them runs a job of its own (--"))) << args.back();
  }
}

TEST(ClusterSettings, NonsenseOfSlurmHarmsNoLineThatNeedsNothing) {
  Environment env = slurm::step();
  env.set("SLURM_STEP_NODELIST", "rack[1-2]x3]");
  for (const Args& args :
       {Args{"--standalone"}, Args{"--nnodes=1"}, Args{"--nnodes=2", "--node-rank=1", "--master-addr=elsewhere"}}) {
    Options options = options_of(args);
    const auto use = use_found(env, slurm::task(), options);
    ASSERT_TRUE(use);
    EXPECT_THAT(use->found, ElementsAre(HasSubstr("SLURM_STEP_NODELIST"))) << "for --explain";
  }
  Options options = options_of({"--nnodes=2"});
  EXPECT_FALSE(use_found(env, slurm::task(), options));
}

TEST(ClusterSettings, TheHostOfC10dIsNotChosenByAnIgnoredRank) {
  EXPECT_EQ(settled({"--rdzv-backend=c10d", "--node-rank=0"}).config.c10d()->is_host, false);
}

TEST(ClusterSettings, AStepOfOneNodeHasNothingForALineOfSeveral) {
  ClusterView view = step();
  view.start->nodes.value = 1;
  view.start->names = {"n2"};
  view.start->node_rank.value = NodeRank(0);
  EXPECT_EQ(settled_in(view, {"--nnodes=2", "--node-rank=1", "--master-port=4000"}).config.nnodes(), 2);
}

TEST(ClusterSettings, C10dMeetsOnTheFirstNode) {
  const Settled job = settled({"--rdzv-backend=c10d", "--nnodes=1:4"});
  ASSERT_NE(job.config.c10d(), nullptr);
  EXPECT_EQ(job.config.store(), (Endpoint{"n1", step().start->port.value}));
  EXPECT_EQ(job.config.c10d()->is_host, false);
  EXPECT_EQ(job.config.run_id, "3.0");
  EXPECT_EQ(job.config.c10d()->settings.nodes, (NodeLimits{1, 4}));
  ClusterView first = step();
  first.start->node_rank.value = NodeRank(0);
  EXPECT_EQ(settled_in(first, {"--rdzv-backend=c10d"}).config.c10d()->is_host, true);
  EXPECT_EQ(settled_in(first, {"--rdzv-backend=c10d"}).config.c10d()->settings.nodes, (NodeLimits{2, 2}));
}

TEST(ClusterSettings, EachOfSeveralTasksOnANodeIsOneWorker) {
  const Settled job = settled_in(tasks(), {});
  EXPECT_EQ(job.use.told,
            "Slurm step 3.0: 4 tasks on 2 nodes, each with one worker; this is rank 3, number 1 on its node, node 0 is "
            "n1");
  EXPECT_EQ(job.config.nnodes(), 4);
  EXPECT_EQ(job.config.node_rank(), NodeRank(3));
  EXPECT_EQ(job.config.nproc_per_node, 1);
  ASSERT_TRUE(job.use.place);
  EXPECT_EQ(job.use.place->node, NodeRank(1));
  EXPECT_EQ(settled_in(tasks(), {"--nnodes=2", "--nproc-per-node=1", "--node-rank=1"}).config.nnodes(), 4)
      << "the user counts machines";
}

// What is wrong with these arguments in a task of several on its node, which sees so many GPUs.
std::string fault_in_task(const Args& args, int devices = 0) {
  Options options = options_of(args);
  const auto use = use_cluster(tasks(), options);
  if (!use) return use.error().message;
  HostFacts facts = facts_with({});
  AcceleratorFamily family{AcceleratorKind::cuda, {}};
  for (int i = 0; i < devices; ++i) family.devices.push_back({});
  if (devices > 0) facts.accelerators = {family};
  const auto config = settle(options, facts);
  if (!config) return config.error().message;
  const Status fits = check_place(*use, options, *config);
  return fits ? "" : fits.error().message;
}

TEST(ClusterSettings, WorkersTimesTasksAreRefused) {
  EXPECT_EQ(fault_in_task({}, 4), "") << "one worker, however many devices it sees";
  EXPECT_EQ(fault_in_task({"--nproc-per-node=1"}, 4), "");
  EXPECT_EQ(fault_in_task({"--nproc-per-node=gpu"}, 1), "");
  EXPECT_EQ(fault_in_task({"--nproc-per-node=gpu"}, 4),
            "--nproc-per-node gpu means 4 workers, but there are 2 launches on this node, each of which runs one "
            "worker; leave it out, start one launch on each node, or give --nnodes=1 for a job of each");
  EXPECT_THAT(fault_in_task({"--nproc-per-node=2"}), HasSubstr("--nproc-per-node 2 means 2 workers"));
  EXPECT_THAT(fault_in(tasks(), {"--nnodes=4"}), HasSubstr("--nnodes 4, but the Slurm step has 4 tasks on 2 nodes"));
  EXPECT_EQ(fault_in_task({"--nnodes=2", "--nproc-per-node=2", "--node-rank=1", "--master-addr=n1"}), "")
      << "as torchrun has it";
}

TEST(ClusterSettings, OptionsAboutSeveralWorkersAreRefusedWhereEachLaunchHasOne) {
  for (const char* option : {"--local-ranks-filter=1", "--tee=1:3", "-r=0:3"})
    EXPECT_THAT(fault_in_task({option}), HasSubstr("is about several workers of one launch")) << option;
  EXPECT_EQ(fault_in_task({"--tee=3", "--redirects=1"}), "");
}

// Ranks 0 and 1 on one node, rank 2 alone on another: what they decide must not depend on where they are.
TEST(ClusterSettings, RanksOfAnUnevenStartAskBeforeTheyDecide) {
  for (const Args& args : {Args{}, Args{"--master-addr=n1"}, Args{"--rdzv-backend=c10d"}, Args{"--nnodes=2"}}) {
    for (const char* count : {"1", "2"}) {
      Environment env = starts::intel_mpi();
      env.set("MPI_LOCALNRANKS", count);
      EXPECT_TRUE(must_ask_server(*view_cluster(env, starts::below_mpi("n3")), options_of(args)));
    }
  }
  const auto view = *view_cluster(starts::intel_mpi(), starts::below_mpi("n3"));
  EXPECT_FALSE(must_ask_server(view, options_of({"--nnodes=1"})));
  EXPECT_FALSE(must_ask_server(view, options_of({"--nnodes=5", "--node-rank=4", "--master-addr=n1"})));
  EXPECT_EQ(longest_wait(options_of({"--rdzv-conf=timeout=7"})), std::chrono::seconds(7));
  EXPECT_EQ(longest_wait(options_of({})), std::chrono::seconds(900));
}

// A worker may be the rank itself for Open MPI, unless launch has spoken as that rank.
TEST(ClusterSettings, OpenMpisServerIsAskedOnlyIfNobodySaysWhereNode0Is) {
  Environment env = starts::open_mpi();
  ClusterView view = *view_cluster(env, starts::below_mpi("n3"));
  EXPECT_TRUE(must_ask_server(view, options_of({})));
  EXPECT_FALSE(must_ask_server(view, options_of({"--master-addr=n1"})));
  EXPECT_FALSE(must_ask_server(view, options_of({"--nnodes=1"})));
  env.set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  view = *view_cluster(env, starts::below_mpi("n3"));
  ASSERT_TRUE(add_answer(RankAnswer{"", "n1", 61'003, "(vector,(0,1,1),(1,1,2))"}, *view.start));
  EXPECT_EQ(view.start->host.from, "the PMIx server of Open MPI");
  Options options = options_of({});
  EXPECT_TRUE(use_cluster(view, options)->strips_identity);
  env.set("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  EXPECT_FALSE(must_ask_server(*view_cluster(env, starts::below_mpi("n3")), options_of({}))) << "all on one machine";
}

TEST(ClusterSettings, TheTimeOfTheJobIsThatOfSlurmWhoeverStartedLaunchInIt) {
  Environment env = starts::open_mpi();
  env.set("SLURM_JOB_ID", "8");
  env.set("SLURM_TASK_PID", "400");
  env.set("SLURM_JOB_END_TIME", "1700000000");
  const Preemption one = settled_in(*view_cluster(env, starts::below_mpi("n3")), {"--nnodes=1"}).config.preemption;
  EXPECT_EQ(one.job_end_from, "SLURM_JOB_END_TIME");
  const Args own{"--nnodes=1", "--job-end=1800000000"};
  EXPECT_EQ(settled_in(*view_cluster(env, starts::below_mpi("n3")), own).config.preemption.job_end_from, "--job-end");
  for (const char* text : {"", "UNLIMITED", "4294967295", "0"}) {
    env.set("SLURM_JOB_END_TIME", text);
    EXPECT_FALSE(settled_in(*view_cluster(env, starts::below_mpi("n3")), {"--nnodes=1"}).config.preemption.job_end);
  }
}

TEST(ClusterSettings, APodHasLessTimeWhateverStartedLaunchInIt) {
  Environment env;
  env.set("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  const ClusterView view = *view_cluster(env, {});
  EXPECT_EQ(settled_in(view, {}).config.shutdown_timeout, std::chrono::seconds(25));
  EXPECT_EQ(settled_in(view, {"--shutdown-timeout=50"}).config.shutdown_timeout, std::chrono::seconds(50));
  Environment cloud = starts::skypilot();
  cloud.set("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  EXPECT_EQ(settled_in(*view_cluster(cloud, {}), {}).config.shutdown_timeout, std::chrono::seconds(25));
}

TEST(ClusterSettings, AnAddressOfThisMachineIsEnoughIfAllRanksAreOnIt) {
  Environment env = starts::open_mpi();
  env.set("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  env.set("OMPI_COMM_WORLD_LOCAL_RANK", "2");
  const auto view = *view_cluster(env, starts::below_mpi("laptop"));
  for (const Args& args : {Args{}, Args{"--master-addr=localhost"}}) {
    const Settled job = settled_in(view, args);
    EXPECT_EQ(job.config.nnodes(), 3);
    EXPECT_THAT(job.use.notices, IsEmpty());
  }
}

TEST(ClusterSettings, AnyPortMeansOneNodeAlsoForTasksOfOneMachine) {
  Environment env = starts::open_mpi();
  env.set("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  const auto view = *view_cluster(env, starts::below_mpi("laptop"));
  for (const char* option : {"--master-port=0", "--rdzv-endpoint=localhost:0"})
    EXPECT_EQ(settled_in(view, {option}).config.nnodes(), 1) << option;
}

TEST(ClusterSettings, AHostAloneLeavesPortAndIdToTheStart) {
  const Settled job = settled({"--master-addr=n7"});
  EXPECT_EQ(job.config.store(), (Endpoint{"n7", step().start->port.value}));
  EXPECT_EQ(job.config.run_id, "3.0");
  EXPECT_EQ(job.use.ports, step().start->row);
  EXPECT_TRUE(settled({"--master-port=4000"}).use.ports.empty());
}

TEST(ClusterSettings, SeveralWorkersAreNotTheRankThatTheirLaunchIs) {
  const auto view = *view_cluster(starts::open_mpi(), starts::below_mpi("n3"));
  for (const bool several : {false, true}) {
    Settled job = settled_in(view, {"--nnodes=1", several ? "--nproc-per-node=2" : "--nproc-per-node=1"});
    job.config.worker_env = starts::open_mpi();
    Options options;
    EXPECT_EQ(worker_environment(job.use, options, job.config).get("OMPI_COMM_WORLD_RANK").has_value(), !several);
    options.keep_cluster_env.value = true;
    EXPECT_TRUE(worker_environment(job.use, options, job.config).get("OMPI_COMM_WORLD_RANK"));
  }
}

TEST(ClusterSettings, ALineThatIsCompleteHasTheConsoleOfItsStart) {
  const Settled job = settled({"--nnodes=2", "--node-rank=1", "--master-addr=n1"});
  EXPECT_TRUE(job.use.shares_console);
  EXPECT_EQ(job.config.shutdown_timeout, std::chrono::seconds(25));
  EXPECT_EQ(job.config.logs.prefix, "[${role_name}${local_rank}]:") << "as torchrun has it";
}

TEST(ClusterSettings, SeveralTasksWithC10dAreSeveralJobs) {
  const Settled job = settled_in(tasks(), {"--rdzv-backend=c10d"});
  EXPECT_EQ(job.config.nnodes(), 1);
  EXPECT_FALSE(job.use.place);
  EXPECT_THAT(job.use.notices, ElementsAre(HasSubstr("with c10d nothing is taken from that")));
}

TEST(ClusterSettings, WhoDoesNotSayWhereNode0IsNeedsTheUsersWord) {
  const auto view = *view_cluster(starts::intel_mpi(), starts::below_mpi("n3"));
  EXPECT_THAT(fault_in(view, {}), HasSubstr("Hydra has 5 nodes, but does not say where node 0 is: give --master-addr"));
  const Settled job = settled_in(view, {"--master-addr=n1"});
  EXPECT_EQ(job.config.nnodes(), 5);
  EXPECT_EQ(job.config.node_rank(), NodeRank(4));
  EXPECT_EQ(job.config.store(), (Endpoint{"n1", 29500}));
  EXPECT_EQ(job.use.told, "Hydra: 5 nodes, this is node 4");
}

TEST(ClusterSettings, AnIndexedJobNeedsTheNumberOfItsPods) {
  ProcessFacts facts = starts::pod("demo-3");
  facts.full_hostname = "demo-3.service";
  const auto view = *view_cluster(starts::indexed_job(), facts);
  const Settled job = settled_in(view, {"--nnodes=4", "--nproc-per-node=2"});
  EXPECT_EQ(job.config.nnodes(), 4);
  EXPECT_EQ(job.config.node_rank(), NodeRank(3));
  EXPECT_EQ(job.config.store(), (Endpoint{"demo-0.service", 29500}));
  EXPECT_EQ(job.use.told, "Indexed Job demo-0: this is node 3, node 0 is demo-0.service");
  EXPECT_THAT(job.use.notices, IsEmpty());
  EXPECT_EQ(settled_in(view, {}).config.nnodes(), 1) << "as with torchrun";
  EXPECT_THAT(settled_in(view, {}).use.notices, ElementsAre(HasSubstr("nothing tells how many pods there are")));
}

TEST(ClusterSettings, AStepOfOneNodeHasAsManyWorkersAsDevices) {
  ClusterView view = step();
  view.start->nodes.value = 1;
  view.start->names = {"n2"};
  view.start->node_rank.value = NodeRank(0);
  const Settled job = settled_in(view, {});
  EXPECT_EQ(job.use.told, "Slurm step 3.0: one node");
  EXPECT_EQ(job.config.nnodes(), 1);
  EXPECT_EQ(job.config.store(), (Endpoint{"127.0.0.1", 0})) << "a free port, as ever";
  EXPECT_EQ(job.options.nproc_per_node.source, Source::cluster);
}

TEST(ClusterSettings, TheUserMayDoWithoutSlurmOrInsistOnIt) {
  Options options = options_of({"--cluster=none"});
  EXPECT_EQ(use_found(slurm::step(), slurm::task(), options)->told, "");
  EXPECT_EQ(options.nnodes.source, Source::initial);
  options = options_of({"--cluster=slurm"});
  EXPECT_NE(use_found(slurm::step(), slurm::task(), options)->told, "");
  options = options_of({"--cluster=slurm"});
  EXPECT_THAT(use_found(slurm::batch(), slurm::in_batch(), options).error().message,
              HasSubstr("--cluster slurm: no such start of this launch was found; Slurm job 8"));
  EXPECT_EQ(use_found({}, {}, options).error().message, "--cluster slurm: no such start of this launch was found");
}

TEST(ClusterSettings, AnAllocationWithoutAStartIsANotice) {
  const auto view = view_cluster(slurm::batch(), slurm::in_batch());
  EXPECT_THAT(settled_in(*view, {}).use.notices, ElementsAre(HasSubstr("srun --ntasks-per-node=1 launch ...")));
  EXPECT_THAT(settled_in(*view, {"--nnodes=1"}).use.notices, IsEmpty());
  EXPECT_THAT(settled_in(*view, {"--standalone"}).use.notices, IsEmpty());
}

}  // namespace launch::cluster_settings_test
