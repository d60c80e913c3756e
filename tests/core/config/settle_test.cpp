#include "launch/core/config/settle.hpp"

#include "launch/core/options/option_table.hpp"
#include "settling.hpp"

#include <csignal>

namespace launch::settle_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Settle, ThePlainOneNodeJobKeepsToItself) {
  const Config config = config_of({});
  EXPECT_EQ(config.nnodes(), 1);
  EXPECT_EQ(config.node_rank(), NodeRank(0));
  EXPECT_EQ(config.nproc_per_node, 1);
  EXPECT_EQ(config.role, "default");
  EXPECT_EQ(config.run_id, "fresh");
  EXPECT_EQ(config.store(), (Endpoint{"127.0.0.1", 0}));
  EXPECT_FALSE(config.identical_workers);
  EXPECT_EQ(config.rendezvous_timeout, 900s);
  EXPECT_EQ(config.shutdown_timeout, 30s);
  EXPECT_EQ(config.hostname, "node7");
  EXPECT_THAT(config.program.argv, ElementsAre("/usr/bin/python3", "-u", "train.py"));
  EXPECT_THAT(config.notices, IsEmpty());
}

TEST(Settle, WhatTheKernelLacksIsANotice) {
  HostFacts facts = plain_facts();
  facts.kernel_lacks = {{KernelPart::close_range, "Function not implemented"}};
  EXPECT_THAT(config_of({}, facts).notices, ElementsAre(HasSubstr("no close_range() (Function not implemented)")));
}

// What the table says to be closed is: the parser sees to it for some rows, a rule for the others.
TEST(Settle, ClosedChoicesAreAllThatAFlagMayBe) {
  for (const OptionRow& row : option_table()) {
    if (row.closed == Closed::no) continue;
    const std::string said = fault_of({std::string(row.name) + "=other"});
    for (const std::string_view choice : row.choices) EXPECT_THAT(said, HasSubstr(choice)) << row.name;
  }
}

TEST(Settle, TimeoutsAreRead) {
  EXPECT_EQ(config_of({"--rdzv-conf=timeout=1.5,rank=9,unknown=x"}).rendezvous_timeout, 1500ms);
  EXPECT_EQ(config_of({"--rdzv-conf=timeout=1e300"}).rendezvous_timeout, 1'000'000'000s);
  EXPECT_EQ(config_of({"--rdzv-conf=rank=9"}).node_rank(), NodeRank(0));
  EXPECT_EQ(config_of({}).heartbeat_timeout, 30s);
  EXPECT_EQ(config_of({"--heartbeat-timeout=2.5"}).heartbeat_timeout, 2500ms);
  EXPECT_EQ(config_of({"--heartbeat-timeout=0"}).heartbeat_timeout, 0s);
  EXPECT_EQ(config_of({}).kill_grace, 5s);
  EXPECT_EQ(config_of({"--kill-grace=0.5"}).kill_grace, 500ms);
  EXPECT_EQ(config_of({"--shutdown-timeout=0"}).shutdown_timeout, 0s);
  EXPECT_EQ(config_of({"--shutdown-timeout=99999999999"}).shutdown_timeout, 2'147'483'647s);
}

TEST(Settle, TheFormOfTheVerdictIsRead) {
  EXPECT_FALSE(config_of({}).verdict.json);
  EXPECT_TRUE(config_of({"--verdict=json"}).verdict.json);
  EXPECT_EQ(config_of({"--verdict=json:/v.json"}).verdict.file, "/v.json");
  EXPECT_FALSE(config_of({"--verdict=json:/v.json"}).verdict.json);
  for (const bool passing : {false, true}) {
    const VerdictChoice two = config_of({passing ? "--verdict=passing:/t,/v" : "--verdict=files:/t,/v"}).verdict;
    EXPECT_EQ(two.text_file, "/t");
    EXPECT_EQ(two.file, "/v");
    EXPECT_EQ(two.logs_pass, passing);
    EXPECT_EQ(two.hosted, passing);
  }
  const VerdictChoice hosted = config_of({"--verdict=hosted:/t,/v"}).verdict;
  EXPECT_TRUE(hosted.hosted);
  EXPECT_FALSE(hosted.logs_pass);
  EXPECT_EQ(hosted.text_file, "/t");
}

TEST(Settle, TheWarningOfASchedulerIsRead) {
  EXPECT_EQ(config_of({}).preemption.signal, 0);
  EXPECT_EQ(config_of({"--preempt-signal=SIGTERM"}).preemption.signal, SIGTERM);
}

TEST(Settle, TheEndOfTheJobsTimeIsRead) {
  const Preemption none = config_of({}).preemption;
  EXPECT_FALSE(none.job_end);
  EXPECT_EQ(none.requeue_exit, 75);
  const Preemption one =
      config_of({"--job-end=1700000000", "--stop-before-end=120", "--requeue-on=3,SIGKILL,warned", "--requeue-exit=99"})
          .preemption;
  EXPECT_EQ(one.job_end, WallTime(1'700'000'000s));
  EXPECT_EQ(one.job_end_from, "--job-end");
  EXPECT_EQ(one.notice, 120s);
  EXPECT_EQ(one.requeue_on.codes, (std::set{3, 137}));
  EXPECT_TRUE(one.requeue_warned);
  EXPECT_EQ(one.requeue_exit, 99);
}

TEST(Settle, TheCommandsAroundTheWorkersAreRead) {
  const HookChoice none = config_of({}).hooks;
  EXPECT_TRUE(none.before.empty() && none.after.empty());
  EXPECT_EQ(none.timeout, 300s);
  const HookChoice both = config_of({"--before-workers=a b", "--after-workers=c", "--hook-timeout=0.5"}).hooks;
  EXPECT_EQ(both.before, "a b");
  EXPECT_EQ(both.after, "c");
  EXPECT_EQ(both.timeout, 500ms);
  EXPECT_EQ(config_of({"--after-workers=c", "--hook-timeout=0"}).hooks.timeout, 0s);
}

TEST(Settle, TheWaitForTheMemoryOfGpusIsRead) {
  EXPECT_EQ(config_of({}).hooks.wait_gpu_memory, 0s);
  EXPECT_EQ(config_of({"--wait-gpu-memory=1.5"}).hooks.wait_gpu_memory, 1500ms);
}

TEST(Settle, EvidenceIsReadWithItsSignal) {
  EXPECT_TRUE(config_of({}).evidence.states);
  EXPECT_FALSE(config_of({}).evidence.stacks);
  EXPECT_FALSE(config_of({"--evidence=none"}).evidence.states);
  EXPECT_EQ(config_of({"--evidence=states:SIGUSR2"}).evidence.stack_signal, SIGUSR2);
  const EvidenceChoice stacks = config_of({"--evidence=stacks:USR1"}).evidence;
  EXPECT_TRUE(stacks.states && stacks.stacks);
  EXPECT_EQ(stacks.stack_signal, SIGUSR1);
}

TEST(Settle, BadVariablesAreNamedAsTyped) {
  HostFacts facts = plain_facts();
  facts.env.set("PET_NNODES", "x");
  EXPECT_THAT(fault_of({}, facts), HasSubstr("PET_NNODES=x: expected"));
}

TEST(Settle, BadInputIsOneClearLineThatNamesItsOrigin) {
  expect_faults({
      {{"--monitor-interval=0"}, "--monitor-interval 0: expected seconds above 0"},
      {{"--shutdown-timeout=-1"}, "--shutdown-timeout -1: expected 0 or more seconds"},
      {{"--heartbeat-timeout=-1"}, "--heartbeat-timeout -1: expected seconds from 0.5 to 86400, or 0"},
      {{"--heartbeat-timeout=0.1"}, "--heartbeat-timeout 0.1: expected seconds from 0.5 to 86400, or 0"},
      {{"--heartbeat-timeout=nan"}, "--heartbeat-timeout"},
      {{"--kill-grace=0"}, "--kill-grace 0: expected seconds from 0.1 to 86400"},
      {{"--verdict=xml"}, "--verdict xml: expected text, json, json:FILE or files:TEXT,JSON"},
      {{"--verdict=json:"}, "--verdict json:: expected text, json, json:FILE or files:TEXT,JSON"},
      {{"--detach"}, "--detach: only a job of --hosts can go on in the background; use nohup or tmux"},
      {{"--evidence=all"}, "--evidence all: expected none, states or stacks"},
      {{"--evidence=stacks:SIGFOO"}, "--evidence stacks:SIGFOO: expected none"},
      {{"--evidence=states:SIGKILL"}, "--evidence states:SIGKILL: expected none"},
      {{"--evidence=none:SIGUSR1"}, "--evidence none:SIGUSR1: expected none"},
      {{"--max-restarts=-1"}, "--max-restarts -1: expected 0 or more restarts"},
      {{"--restart-on=0"}, "--restart-on 0: 0 is not a valid exit condition"},
      {{"--restart-on=warned"}, "or start"},
      {{"--requeue-on=start"},
       "--requeue-on start: start is not a valid exit condition; expected exit codes from 1 to "
       "255, signals such as SIGKILL, or warned"},
      {{"--after-workers=true", "--hook-timeout=-1"}, "--hook-timeout -1: expected seconds from 0.1 to 604800, or 0"},
      {{"--wait-gpu-memory=-1"}, "--wait-gpu-memory -1: expected seconds from 0 to 86400"},
      {{"--wait-gpu-memory=nan"}, "--wait-gpu-memory"},
      {{"--requeue-exit=256", "--requeue-on=1"}, "--requeue-exit 256: expected an exit code from 1 to 255"},
      {{"--job-end=soon"}, "--job-end soon: expected seconds since 1970"},
      {{"--stop-before-end=0"}, "--stop-before-end 0: expected seconds above 0"},
      {{"--stop-before-end=60"}, "--stop-before-end 60: launch does not know when the job ends"},
      {{"--fail-on=SIGFOO"}, "--fail-on SIGFOO: SIGFOO is not a valid exit condition"},
      {{"--max-membership-restarts=-1"}, "--max-membership-restarts -1: expected 0 or more restarts"},
      {{"--restart-window=0"}, "--restart-window 0: expected seconds above 0"},
      {{"--signals-to-handle=SIGFOO"}, "--signals-to-handle SIGFOO: SIGFOO is not a signal"},
      {{"--preempt-signal=SIGFOO"}, "--preempt-signal SIGFOO: SIGFOO is not a signal"},
      {{"--preempt-signal=SIGKILL"}, "--preempt-signal SIGKILL: SIGKILL cannot be passed on"},
      {{"--signals-to-handle=SIGTERM,"}, "--signals-to-handle SIGTERM,: \"\" is not a signal"},
      {{"--signals-to-handle=SIGTERM,SIGKILL"}, "SIGKILL cannot be passed on"},
  });
}

TEST(Settle, SignalsAreThoseOfTheListOnce) {
  EXPECT_THAT(config_of({}).signals, ElementsAre(SIGTERM, SIGINT, SIGHUP, SIGQUIT));
  const Config config = config_of({"--signals-to-handle= SIGUSR1 ,TERM,SIGUSR1"});
  EXPECT_THAT(config.signals, ElementsAre(SIGUSR1, SIGTERM));
  EXPECT_EQ(config.worker_env.get("TORCHELASTIC_SIGNALS_TO_HANDLE"), " SIGUSR1 ,TERM,SIGUSR1");
}

TEST(Settle, RestartsGoByTheEndsThatTheUserNames) {
  const Config config = config_of(
      {"--max-restarts=3", "--restart-on=3,SIGKILL,start", "--fail-on=TERM", "--restart-window=60", "--repeat-errors"});
  EXPECT_EQ(config.restarts.restart_on.codes, (std::set<int>{3, 137}));
  EXPECT_TRUE(config.restarts.restart_on.start);
  EXPECT_EQ(config.restarts.fail_on.codes, std::set<int>{143});
  EXPECT_EQ(config.restarts.window, std::chrono::seconds(60));
  EXPECT_TRUE(config.restarts.repeat_errors);
}

TEST(Settle, RestartsAreCounted) {
  const Config config = config_of({"--max-restarts=3"});
  EXPECT_EQ(config.restarts.max_restarts, 3);
  EXPECT_EQ(config.restarts.max_membership_restarts, std::nullopt);
  EXPECT_EQ(config_of({"--max-membership-restarts=0"}).restarts.max_membership_restarts, 0);
}

}  // namespace launch::settle_test
