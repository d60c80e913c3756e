#include "launch/core/cluster/slurm_life.hpp"

#include "../../support/slurm.hpp"

#include <gtest/gtest.h>

namespace launch::slurm_life_test {

const Ancestor init{1, "/sbin/init"};

ProcessFacts below(std::vector<Ancestor> ancestors) {
  ProcessFacts facts;
  facts.pid = 30000;
  facts.ancestors = std::move(ancestors);
  return facts;
}

TEST(SlurmLife, ATaskAndWhatItStartsBelongToTheStep) {
  EXPECT_EQ(slurm_life(slurm::step(), slurm::task()), SlurmLife::step);
  EXPECT_EQ(slurm_life(slurm::step(), below({{24953, "bash job.sh"}, {24900, "slurmstepd: [3.0]"}, init})),
            SlurmLife::step);
  EXPECT_EQ(slurm_life(slurm::step(), below({{24953, "bash job.sh"}, init})), SlurmLife::step) << "a hidden title";
}

TEST(SlurmLife, TheBatchScriptIsNoStep) {
  EXPECT_EQ(slurm_life(slurm::batch(), slurm::in_batch()), SlurmLife::allocation);
  Environment leaked = slurm::batch();  // it was submitted from inside a step of two nodes
  leaked.set("SLURM_STEP_ID", "0");
  leaked.set("SLURM_STEP_NUM_NODES", "2");
  leaked.set("SLURM_STEP_NUM_TASKS", "2");
  leaked.set("SLURM_STEP_TASKS_PER_NODE", "1(x2)");
  EXPECT_EQ(slurm_life(leaked, slurm::in_batch()), SlurmLife::allocation);
  EXPECT_EQ(slurm_life(leaked, below({{700, "bash"}, init})), SlurmLife::allocation) << "a hidden title";
  Environment numbered = slurm::batch();
  for (const char* special : {"-5", "4294967291"}) {
    numbered.set("SLURM_STEP_ID", special);
    EXPECT_EQ(slurm_life(numbered, below({{700, "bash"}, init})), SlurmLife::allocation);
  }
}

TEST(SlurmLife, SallocsShellIsNoStep) {
  Environment env = slurm::batch();
  env.remove("SLURM_TASK_PID");
  EXPECT_EQ(slurm_life(env, below({{31, "bash"}, {30, "salloc -N3"}, init})), SlurmLife::allocation);
  EXPECT_EQ(slurm_life(env, below({{31, "bash"}, {30, "/usr/bin/salloc -N3"}, init})), SlurmLife::allocation);
}

TEST(SlurmLife, VariablesOfAnotherStartAreLeftOver) {
  EXPECT_EQ(slurm_life(slurm::step(), below({{50, "tmux: server"}, init})), SlurmLife::ended);
  EXPECT_EQ(slurm_life(slurm::step(), below({{60, "bash"}, {59, "slurmstepd: [9.2]"}, init})), SlurmLife::ended);
  EXPECT_EQ(slurm_life(slurm::batch(), below({{50, "sshd: u@pts/0"}, init})), SlurmLife::ended);
}

TEST(SlurmLife, TheShellOfAPtyIsOneNode) {
  Environment env = slurm::step();
  env.set("SLURM_PTY_PORT", "40000");
  const auto below_task = [](const char* command) {
    return below({{24960, "xargs launch"}, {24953, command}, {24900, "slurmstepd: [3.0]"}, init});
  };
  for (const char* shell : {"bash", "-bash", "/bin/bash -i", "/usr/bin/zsh -l", "sh"})
    EXPECT_EQ(slurm_life(env, below_task(shell)), SlurmLife::interactive) << shell << ", whatever the input is";
  for (const char* program : {"bash job.sh", "bash -c launch", "python run.py", "bash -l job.sh", ""})
    EXPECT_EQ(slurm_life(env, below_task(program)), SlurmLife::step) << program << ", on every node of the step";
  EXPECT_EQ(slurm_life(env, slurm::task()), SlurmLife::step) << "srun --pty launch";
}

TEST(SlurmLife, AShellThatCannotBeSeenHasATerminal) {
  Environment env = slurm::step();
  env.set("SLURM_PTY_PORT", "40000");
  ProcessFacts in_tmux = below({{50, "tmux: server"}, init});
  in_tmux.cgroup = "0::/system.slice/slurmstepd.scope/job_3/step_0/user/task_0\n";
  EXPECT_EQ(slurm_life(env, in_tmux), SlurmLife::step);
  in_tmux.terminal = true;
  EXPECT_EQ(slurm_life(env, in_tmux), SlurmLife::interactive);
}

TEST(SlurmLife, TheControlGroupCountsIfTheTitleIsHidden) {
  ProcessFacts task = below({{24953, "bash job.sh"}, init});
  Environment env = slurm::step();
  env.set("SLURM_NNODES", "4");  // srun -E keeps those of the job
  EXPECT_EQ(slurm_life(env, task), SlurmLife::allocation);
  task.cgroup = "0::/system.slice/slurmstepd.scope/job_3/step_0/user/task_0\n";
  EXPECT_EQ(slurm_life(env, task), SlurmLife::step);
  task.cgroup = "0::/system.slice/slurmstepd.scope/job_3/step_batch/user/task_0\n";
  EXPECT_EQ(slurm_life(slurm::step(), task), SlurmLife::allocation) << "they are left over from a step";
  env.remove("SLURM_NNODES");
  task.cgroup = "";
  EXPECT_EQ(slurm_life(env, task), SlurmLife::step) << "people remove single ones";
}

TEST(SlurmLife, AContainerHidesWhatIsAbove) {
  ProcessFacts inside = below({{1, "bash job.sh"}});
  inside.sees_whole_host = false;
  EXPECT_EQ(slurm_life(slurm::step(), inside), SlurmLife::step);
  Environment env = slurm::step();
  env.set("SLURM_NNODES", "1");
  EXPECT_EQ(slurm_life(env, inside), SlurmLife::doubtful);
  inside.cgroup = "0::/system.slice/slurmstepd.scope/job_3/step_0/user/task_1\n";
  EXPECT_EQ(slurm_life(env, inside), SlurmLife::step);
}

}  // namespace launch::slurm_life_test
