#include "launch/core/config/worker_settings.hpp"

#include "settling.hpp"

namespace launch::worker_settings_test {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(WorkerSettings, WorkersAreCountedByNumberOrByWhatTheNodeHas) {
  HostFacts facts = plain_facts();
  EXPECT_EQ(config_of({"--nproc-per-node=3"}, facts).nproc_per_node, 3);
  EXPECT_EQ(config_of({"--nproc-per-node=cpu"}, facts).nproc_per_node, 6);
  EXPECT_EQ(config_of({"--nproc-per-node=auto"}, facts).nproc_per_node, 6);
  for (const auto& [kind, word] : {std::pair(AcceleratorKind::cuda, "gpu"), std::pair(AcceleratorKind::rocm, "gpu"),
                                   std::pair(AcceleratorKind::xpu, "xpu"), std::pair(AcceleratorKind::npu, "npu")}) {
    facts.accelerators = {AcceleratorFamily{kind, std::vector<Accelerator>(2)}};
    EXPECT_EQ(config_of({std::string("--nproc-per-node=") + word}, facts).nproc_per_node, 2);
    EXPECT_EQ(config_of({"--nproc-per-node=auto"}, facts).nproc_per_node, 2);
    EXPECT_EQ(config_of({"--nproc-per-node=cpu"}, facts).nproc_per_node, 6);
  }
}

TEST(WorkerSettings, AnOptionBehindTheProgramIsNoticed) {
  const auto notices = [](std::vector<std::string> words) {
    return config_of(std::move(words), plain_facts()).notices;
  };
  EXPECT_THAT(notices({"train", "--nproc_per_node=2", "--lr=1"}),
              ElementsAre("--nproc_per_node comes after train, so it is passed to it as an argument; give options of "
                          "launch before the program"));
  EXPECT_THAT(notices({"--nproc-per-node=2", "train", "--nproc-per-node=2"}), Not(Contains(HasSubstr("stands behind"))))
      << "somebody knows both";
  EXPECT_THAT(notices({"train", "--role=x", "--lr=1"}), IsEmpty()) << "a name that programs use, too";
}

TEST(WorkerSettings, WorkersInheritTheEnvironmentAndWhatLaunchersAdd) {
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

TEST(WorkerSettings, SeveralWorkersGetOneThreadEachUnlessTheUserSaysOtherwise) {
  HostFacts facts = plain_facts();
  const Config config = config_of({"--nproc-per-node=2"}, facts);
  EXPECT_EQ(config.worker_env.get("OMP_NUM_THREADS"), "1");
  EXPECT_THAT(config.notices, ElementsAre(HasSubstr("OMP_NUM_THREADS is not set")));
  facts.env.set("OMP_NUM_THREADS", "4");
  const Config chosen = config_of({"--nproc-per-node=2"}, facts);
  EXPECT_EQ(chosen.worker_env.get("OMP_NUM_THREADS"), "4");
  EXPECT_THAT(chosen.notices, IsEmpty());
}

TEST(WorkerSettings, IdenticalWorkersAreDeclaredByTheirVariable) {
  HostFacts facts = plain_facts();
  facts.env.set("TORCH_ELASTIC_WORKER_IDENTICAL", "1");
  EXPECT_TRUE(config_of({}, facts).identical_workers);
  facts.env.set("TORCH_ELASTIC_WORKER_IDENTICAL", "0");
  EXPECT_FALSE(config_of({}, facts).identical_workers);
}

TEST(WorkerSettings, BadInputIsOneClearLineThatNamesItsOrigin) {
  expect_faults({
      {{"--nproc-per-node=0"}, "--nproc-per-node 0 is not a possible number of workers on a node (1 to 16384"},
      {{"--nproc-per-node=-1"}, "--nproc-per-node -1 is not a possible"},
      {{"--nproc-per-node=foo"}, "--nproc-per-node foo: expected a number of workers, auto, cpu, gpu, xpu or npu"},
      {{"--nproc-per-node=gpu"}, "--nproc-per-node gpu: this node has no visible GPU; give a number"},
      {{"--no-python", "-m"}, "--no-python and --module exclude each other"},
      {{"--nproc-per-node=xpu"}, "--nproc-per-node xpu: this node has no visible XPU"},
      {{"--nproc-per-node=npu"}, "--nproc-per-node npu: this node has no visible NPU"},
      {{"--omp-threads=0"}, "--omp-threads 0: expected a number above 0, or auto"},
      {{"--omp-threads=some"}, "--omp-threads some: expected"},
      {{"--stdin=-1"}, "--stdin -1: expected the rank of a worker (0 or more), all or none"},
      {{"--stdin=0,1"}, "--stdin 0,1: expected the rank"},
      {{"--stdin=1.5"}, "--stdin 1.5: expected the rank"},
      {{"--stdin=ALL"}, "--stdin ALL: expected the rank"},
      {{"--stdin="}, "--stdin"},
      {{"--stdin=1"}, "--stdin 1: expected a rank from 0 to 0, since the job has 1 worker"},
      {{"--nproc-per-node=2", "--stdin=2"}, "--stdin 2: expected a rank from 0 to 1, since the job has 2 workers"},
      {{"--numa-binding=x"}, "--numa-binding x: expected node, socket, exclusive, core-complex"},
      {{"--start-method=thread"}, "--start-method thread: expected spawn, fork, forkserver"},
  });
}

// Two packages with two cores of two threads each; the first thread of the last core is taken.
CpuTopology small_topology() {
  CpuTopology topology;
  for (int cpu = 0; cpu < 8; ++cpu) topology.cpus.push_back({cpu, cpu / 4, cpu / 4, cpu / 2 * 2, cpu / 4 * 4});
  topology.allowed = {0, 1, 2, 3, 4, 5, 7};
  return topology;
}

TEST(WorkerSettings, ThreadsAreANumberOrTheCoresDividedAmongTheWorkers) {
  HostFacts facts = facts_with({{"OMP_NUM_THREADS", "9"}});
  EXPECT_EQ(config_of({"--omp-threads=3"}, facts).worker_env.get("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(config_of({"--omp-threads=auto", "--nproc-per-node=2"}, facts).worker_env.get("OMP_NUM_THREADS"), "3");
  facts.topology = small_topology();
  EXPECT_EQ(config_of({"--omp-threads=auto", "--nproc-per-node=2"}, facts).worker_env.get("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(config_of({"--omp-threads=auto", "--nproc-per-node=16"}, facts).worker_env.get("OMP_NUM_THREADS"), "1");
  EXPECT_THAT(config_of({"--omp-threads=auto", "--nproc-per-node=2"}, facts).notices, IsEmpty());
}

TEST(WorkerSettings, AVirtualLocalRankHasOneDeviceOfTheList) {
  EXPECT_THAT(config_of({"--virtual-local-rank", "--nproc-per-node=2", "--omp-threads=1"}).virtual_device,
              ElementsAre("0", "1"));
  const HostFacts facts = facts_with({{"CUDA_VISIBLE_DEVICES", "4, 6"}});
  EXPECT_THAT(config_of({"--virtual-local-rank", "--nproc-per-node=2"}, facts).virtual_device, ElementsAre("4", "6"));
  EXPECT_THAT(fault_of({"--virtual-local-rank", "--nproc-per-node=3"}, facts),
              HasSubstr("--virtual-local-rank: 3 workers need a device each, but CUDA_VISIBLE_DEVICES=\"4, 6\" has 2"));
  EXPECT_THAT(config_of({"--nproc-per-node=3"}, facts).virtual_device, IsEmpty());
}

TEST(WorkerSettings, WorkersAreBoundWhereAsked) {
  HostFacts facts = plain_facts();
  facts.topology = small_topology();
  EXPECT_THAT(config_of({"--nproc-per-node=2"}, facts).bindings, IsEmpty());
  const auto bindings = config_of({"--nproc-per-node=2", "--numa-binding=node"}, facts).bindings;
  ASSERT_EQ(bindings.size(), 2U);
  EXPECT_THAT(bindings[0].cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(bindings[1].cpus, ElementsAre(4, 5, 7));
  EXPECT_THAT(fault_of({"--nproc-per-node=9", "--numa-binding=exclusive"}, facts),
              HasSubstr("--numa-binding exclusive: "));
}

TEST(WorkerSettings, TheInputIsSharedUnlessItIsSomebodys) {
  using enum InputChoice::Readers;
  EXPECT_EQ(config_of({}).input.readers, shared);
  EXPECT_EQ(config_of({"--stdin=all"}).input.readers, each);
  EXPECT_EQ(config_of({"--stdin=none"}).input.readers, none);
  const InputChoice second = config_of({"--nproc-per-node=2", "--stdin=1"}).input;
  EXPECT_EQ(second.readers, one);
  EXPECT_EQ(second.rank, GlobalRank(1));
  // Of several nodes, each may have another number of workers.
  EXPECT_EQ(config_of({"--nnodes=2", "--stdin=100000"}).input.rank, GlobalRank(100000));
  EXPECT_EQ(config_of({"--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=a:1", "--stdin=3"}).input.rank,
            GlobalRank(3));
}

TEST(WorkerSettings, AStartMethodIsAcceptedAndSaidToDoNothing) {
  EXPECT_THAT(config_of({"--start-method=fork"}).notices, ElementsAre(HasSubstr("--start-method fork has no effect")));
}

TEST(WorkerSettings, WatchdogTimersNeedAFileOnlyWhereTheyAreTurnedOn) {
  for (const HostFacts& facts : {plain_facts(), facts_with({{"TORCHELASTIC_TIMER_FILE", "/a/timers"}}),
                                 facts_with({{"TORCHELASTIC_ENABLE_FILE_TIMER", "true"}}),
                                 facts_with({{"TORCHELASTIC_ENABLE_FILE_TIMER", ""}})}) {
    const Config config = config_of({}, facts);
    EXPECT_EQ(config.timer_file, "");
    EXPECT_EQ(config.worker_env.get("TORCHELASTIC_TIMER_FILE"), facts.env.get("TORCHELASTIC_TIMER_FILE"));
  }
}

TEST(WorkerSettings, TheFileOfWatchdogTimersIsTheUsersOrAFreshOne) {
  const auto file_of = [](std::initializer_list<std::pair<const char*, const char*>> variables) {
    HostFacts facts = facts_with(variables);
    facts.env.set("TORCHELASTIC_ENABLE_FILE_TIMER", "1");
    const Config config = config_of({}, facts);
    EXPECT_EQ(config.worker_env.get("TORCHELASTIC_TIMER_FILE"), config.timer_file);
    EXPECT_EQ(config.worker_env.get("TORCHELASTIC_ENABLE_FILE_TIMER"), "1");
    return config.timer_file;
  };
  EXPECT_EQ(file_of({}), "/tmp/watchdog_timer_fresh");
  EXPECT_EQ(file_of({{"TMPDIR", ""}}), "/tmp/watchdog_timer_fresh");
  EXPECT_EQ(file_of({{"TMPDIR", "/scratch"}}), "/scratch/watchdog_timer_fresh");
  EXPECT_EQ(file_of({{"TMPDIR", "/scratch"}, {"TORCHELASTIC_TIMER_FILE", "/a/timers"}}), "/a/timers");
  EXPECT_THAT(fault_of({}, facts_with({{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}, {"TORCHELASTIC_TIMER_FILE", ""}})),
              HasSubstr("TORCHELASTIC_TIMER_FILE=\"\": expected the path of a file"));
}

TEST(WorkerSettings, AHealthPortIsSaidToHaveNoEffect) {
  const HostFacts facts = facts_with({{"TORCHELASTIC_HEALTH_CHECK_PORT", "1234"}});
  EXPECT_THAT(config_of({}, facts).notices,
              ElementsAre("TORCHELASTIC_HEALTH_CHECK_PORT=1234 has no effect: launch opens no health port"));
  EXPECT_EQ(config_of({}, facts).worker_env.get("TORCHELASTIC_HEALTH_CHECK_PORT"), "1234");
  EXPECT_THAT(config_of({}, facts_with({{"TORCHELASTIC_HEALTH_CHECK_PORT", ""}})).notices, IsEmpty());
}

TEST(WorkerSettings, AnEnvironmentThatIsGoneIsNoticed) {
  HostFacts facts = facts_with({{"VIRTUAL_ENV", "/gone"}});
  EXPECT_THAT(config_of({}, facts).notices, ElementsAre("VIRTUAL_ENV=/gone has no bin/python; using /usr/bin/python3"));
  facts.venv_python = "/gone/bin/python";
  EXPECT_THAT(config_of({}, facts).notices, IsEmpty());
  EXPECT_THAT(config_of({}, facts_with({{"VIRTUAL_ENV", "/gone"}, {"PYTHON_EXEC", "/bin/python3"}})).notices,
              IsEmpty());
  EXPECT_THAT(config_of({"--no-python"}, facts_with({{"VIRTUAL_ENV", "/gone"}})).notices, IsEmpty());
}

}  // namespace launch::worker_settings_test
