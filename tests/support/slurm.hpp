// Environments of Slurm 22.05 and the processes above a task, as they were recorded.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch::slurm {

// The second task of "srun -N2 -n2 --gres=gpu:2", which is process 24953.
inline Environment step() {
  return {{"SLURMD_NODENAME", "n2"},
          {"SLURM_CLUSTER_NAME", "tiny"},
          {"SLURM_GPUS_ON_NODE", "2"},
          {"SLURM_GTIDS", "1"},
          {"SLURM_JOB_ID", "3"},
          {"SLURM_JOB_NODELIST", "n[1-2]"},
          {"SLURM_JOB_NUM_NODES", "2"},
          {"SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1"},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NNODES", "2"},
          {"SLURM_NODEID", "1"},
          {"SLURM_NODELIST", "n[1-2]"},
          {"SLURM_NTASKS", "2"},
          {"SLURM_PROCID", "1"},
          {"SLURM_STEP_GPUS", "0,1"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NODELIST", "n[1-2]"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
          {"SLURM_TASKS_PER_NODE", "1(x2)"},
          {"SLURM_TASK_PID", "24953"}};
}

inline ProcessFacts task() {
  ProcessFacts facts;
  facts.pid = 24953;
  facts.ancestors = {{24900, "slurmstepd: [3.0]"}, {1, "/sbin/init"}};
  return facts;
}

// The body of the batch script of a job with three nodes, which is process 700.
inline Environment batch() {
  return {
      {"ENVIRONMENT", "BATCH"},     {"HOSTNAME", "n1"},    {"SLURM_JOB_ID", "8"},  {"SLURM_JOB_NODELIST", "n[1-3]"},
      {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_NNODES", "3"}, {"SLURM_NTASKS", "6"},  {"SLURM_TASKS_PER_NODE", "2(x3)"},
      {"SLURM_NODEID", "0"},        {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_TASK_PID", "700"}};
}

inline ProcessFacts in_batch() {
  ProcessFacts facts;
  facts.pid = 705;
  facts.ancestors = {{700, "/bin/bash /var/spool/slurmd/job00008/slurm_script"}, {690, "slurmstepd: [8.batch]"}};
  return facts;
}

}  // namespace launch::slurm
