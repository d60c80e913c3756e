// What plan_hosts() makes of files: those that it reads besides the list of hosts, and those that the job leaves.
#include "planning.hpp"

namespace launch::hosts_settings_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HostsFiles, AJobInTheBackgroundHasAFileForItsOutput) {
  EXPECT_EQ(plan_of({"--hosts=n1"}).detach_file, "");
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach"}).detach_file, "launch-fresh.log");
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach", "--rdzv-id=a/b"}).detach_file, "launch-a_b.log");
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach=/tmp/out"}).detach_file, "/tmp/out");
  HeadFacts facts = facts_of();
  facts.terminal = true;
  EXPECT_THAT(plan_of({"--hosts=n1", "--detach"}, facts).head.options, Not(Contains("--color=always")));
}

TEST(HostsFiles, InTheBackgroundTheReportForProgramsHasAFileOfItsOwn) {
  EXPECT_TRUE(plan_of({"--hosts=n1", "--verdict=json"}).verdict.json);
  const HostsPlan plan = plan_of({"--hosts=n1", "--detach", "--verdict=json"});
  EXPECT_FALSE(plan.verdict.json) << "it would stand among the lines of the log";
  EXPECT_EQ(plan.verdict.file, "launch-fresh.json");
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach=/tmp/out", "--verdict=json"}).verdict.file, "/tmp/out.json");
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach", "--verdict=json:mine"}).verdict.file, "mine");
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach"}).verdict.file, "");
  EXPECT_THAT(refusal({"--hosts=n1", "--detach=/dev/null", "--verdict=json"}), HasSubstr("--verdict=json:FILE"));
  EXPECT_EQ(plan_of({"--hosts=n1", "--detach=/dev/null", "--verdict=json:mine"}).verdict.file, "mine");
}

TEST(HostsFiles, LogsAreGatheredFromAFolderOfEachNode) {
  const HostsPlan plain = plan_of({"--hosts=n1,n2"});
  EXPECT_EQ(plain.gather_folder, "");
  EXPECT_FALSE(plain.head.gathers_logs);
  for (const Args& args :
       {Args{"--hosts=n1,n2", "--gather-logs=d"}, Args{"--hosts=n1", "--tee=1", "--gather-logs=d"}}) {
    const HostsPlan plan = plan_of(args);
    EXPECT_EQ(plan.gather_folder, "d");
    EXPECT_TRUE(plan.head.gathers_logs);
    EXPECT_TRUE(plan.head.keeps_output) << "in a folder that the host makes";
    EXPECT_EQ(plan.head.nodes[0].logs, "");
  }
  const HostsPlan named = plan_of({"--hosts=n1,me@n2:2", "--gather-logs=d", "--log-dir=/shared", "--rdzv-id=a/b"});
  EXPECT_FALSE(named.head.keeps_output);
  EXPECT_EQ(named.head.nodes[0].logs, "/shared/a_b/n1");
  EXPECT_THAT(named.head.nodes[1].options, ElementsAre("--nproc-per-node=2", "--log-dir=/shared/a_b/me@n2"));
  EXPECT_THAT(refusal({"--hosts=n1", "--gather-logs=d", "--log-dir=/dev/null"}), HasSubstr("keeps no logs"));
}

TEST(HostsFiles, VariablesOfDeepSpeedCountWithItsHostFile) {
  HeadFacts facts = facts_of({{"PATH", "/bin"}, {"FOO", "1"}});
  facts.host_file = "n1 slots=2\nn2 slots=2\n";
  facts.deepspeed_env = {{"/home/me/.deepspeed_env", std::string("A=home\nB=home\n")},
                         {".deepspeed_env", std::string("A=here\n")}};
  const HostsPlan plan = plan_of({"--hostfile=f"}, facts);
  EXPECT_THAT(plan.head.env, ElementsAre("A=here", "B=home", "FOO=1", "PATH=/bin"));
  EXPECT_THAT(
      plan.notices,
      ElementsAre("the workers get the variables of /home/me/.deepspeed_env, since the host file is DeepSpeed's",
                  "the workers get the variables of .deepspeed_env, since the host file is DeepSpeed's"));
  EXPECT_THAT(plan_of({"--hostfile=f", "--env-none", "--env=B=line"}, facts).head.env,
              ElementsAre("A=here", "B=line", "PATH=/bin"));
  HeadFacts wrong = facts;
  wrong.deepspeed_env[1].text = std::string("A=1\nB\n");
  EXPECT_EQ(refusal({"--hostfile=f"}, wrong), ".deepspeed_env: line 2: expected NAME=VALUE, but it is B");
  wrong.deepspeed_env[1].text = usage_error("Permission denied");
  EXPECT_EQ(refusal({"--hostfile=f"}, wrong), ".deepspeed_env: Permission denied");
  wrong.host_file = "n1:2\n";
  EXPECT_THAT(plan_of({"--hostfile=f"}, wrong).head.env, ElementsAre("FOO=1", "PATH=/bin")) << "another host file";
  EXPECT_THAT(plan_of({"--hosts=n1"}, wrong).head.env, ElementsAre("FOO=1", "PATH=/bin"));
}

}  // namespace launch::hosts_settings_test
