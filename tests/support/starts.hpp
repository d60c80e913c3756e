// Environments of starters and platforms other than Slurm, and the processes above a launch there. Those of Open MPI,
// MPICH and Intel MPI were recorded; the others are as the makers' sources and documentation have them.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch::starts {

// In the container's own process numbers, as its first process.
inline ProcessFacts pod(const std::string& hostname) {
  ProcessFacts facts;
  facts.pid = 1;
  facts.first_command = "launch train.py";
  facts.hostname = hostname;
  facts.sees_whole_host = false;
  return facts;
}

inline ProcessFacts below_mpi(const std::string& hostname) {
  ProcessFacts facts;
  facts.pid = 500;
  facts.ancestors = {{400, "prted"}, {1, "/sbin/init"}};
  facts.hostname = hostname;
  facts.pmi_socket = true;
  facts.pmix_folder = true;
  return facts;
}

// Open MPI 5.0.11 in a Slurm batch job of three nodes, the third of three ranks. The step is that of its daemons.
inline Environment open_mpi() {
  return {{"OMPI_COMM_WORLD_RANK", "2"},
          {"OMPI_COMM_WORLD_SIZE", "3"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
          {"OMPI_COMM_WORLD_NODE_RANK", "0"},
          {"PMIX_NAMESPACE", "prterun-n1-10563@1"},
          {"PMIX_RANK", "2"},
          {"PMIX_SERVER_TMPDIR", "/tmp/prte.n3"},
          {"PRTE_LAUNCHED", "1"},
          {"SLURM_JOB_ID", "12"},
          {"SLURM_JOB_NODELIST", "n[1-3]"},
          {"SLURM_NODEID", "1"},
          {"SLURM_PROCID", "1"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_NUM_TASKS", "2"}};
}

// Intel MPI 2021, "-hosts n1,n2,n3 -ppn 2 -n 5", the last rank.
inline Environment intel_mpi() {
  return {{"HYDRA_BSTRAP_LOCALHOST", "n3"},
          {"HYDRA_BSTRAP_NODE_ID", "2"},
          {"MPI_LOCALNRANKS", "1"},
          {"MPI_LOCALRANKID", "0"},
          {"PMI_FD", "5"},
          {"PMI_RANK", "4"},
          {"PMI_SIZE", "5"}};
}

// "flux run -N4 launch train.py", the third of four tasks.
inline Environment flux() {
  return {{"FLUX_JOB_ID", "f2WU24J4NT"},
          {"FLUX_JOB_SIZE", "4"},
          {"FLUX_JOB_NNODES", "4"},
          {"FLUX_TASK_RANK", "2"},
          {"FLUX_TASK_LOCAL_ID", "0"},
          {"FLUX_URI", "local:///run/flux/local"},
          {"CUDA_VISIBLE_DEVICES", "-1"},
          {"PMI_RANK", "2"},
          {"PMI_FD", "7"},
          {"PMI_SIZE", "4"}};
}

// "jsrun -n 2 -r1 -a1 -g6 -c42 launch train.py", the second of two.
inline Environment jsrun() {
  return {{"LSB_JOBID", "1234"},
          {"LSB_MCPU_HOSTS", "batch3 1 c05n01 42 c05n02 42"},
          {"JSM_NAMESPACE_RANK", "1"},
          {"JSM_NAMESPACE_SIZE", "2"},
          {"JSM_NAMESPACE_LOCAL_RANK", "0"},
          {"JSM_NAMESPACE_LOCAL_SIZE", "1"}};
}

// HPE Cray's mpiexec, "-n 4 --ppn 2", the last of four tasks.
inline Environment pals() {
  return {{"PALS_APID", "5e4a"},      {"PALS_RANKID", "3"}, {"PALS_NODEID", "1"},
          {"PALS_LOCAL_RANKID", "1"}, {"PMI_SIZE", "4"},    {"PMI_LOCAL_SIZE", "2"}};
}

inline Environment leader_worker_set() {
  return {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
          {"LWS_LEADER_ADDRESS", "demo-0.demo.default"},
          {"LWS_GROUP_SIZE", "4"},
          {"LWS_WORKER_INDEX", "2"}};
}

// The second of three pods, demo-worker-0: a master and two workers.
inline Environment pytorch_job() {
  return {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
          {"MASTER_ADDR", "demo-master-0"},
          {"MASTER_PORT", "23456"},
          {"WORLD_SIZE", "3"},
          {"RANK", "1"},
          {"PYTHONUNBUFFERED", "0"}};
}

inline Environment volcano() {
  return {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
          {"VC_TASK_INDEX", "1"},
          {"VK_TASK_INDEX", "1"},
          {"VC_WORKER_HOSTS", "demo-worker-0.demo,demo-worker-1.demo"},
          {"VC_WORKER_NUM", "2"}};
}

inline Environment indexed_job() {
  return {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"JOB_COMPLETION_INDEX", "3"}, {"PET_NNODES", "4"}};
}

inline Environment sagemaker() {
  return {{"SM_HOSTS", R"(["algo-1","algo-2"])"},
          {"SM_CURRENT_HOST", "algo-2"},
          {"SM_NUM_GPUS", "8"},
          {"TRAINING_JOB_NAME", "demo-2026"}};
}

inline Environment azure_ml() {
  return {{"AZUREML_RUN_ID", "brave_sun"}, {"AZUREML_NODE_COUNT", "2"}, {"NODE_RANK", "1"},
          {"MASTER_ADDR", "10.0.0.4"},     {"MASTER_PORT", "6105"},     {"WORLD_SIZE", "2"}};
}

// The second of three nodes, of which the last is the main one.
inline Environment aws_batch() {
  return {{"AWS_BATCH_JOB_ID", "0a1b#1"},
          {"AWS_BATCH_JOB_NUM_NODES", "3"},
          {"AWS_BATCH_JOB_NODE_INDEX", "1"},
          {"AWS_BATCH_JOB_MAIN_NODE_INDEX", "2"},
          {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", "10.0.0.7"}};
}

inline Environment skypilot() {
  return {{"SKYPILOT_NUM_NODES", "2"},
          {"SKYPILOT_NODE_RANK", "1"},
          {"SKYPILOT_NODE_IPS", "10.0.0.4\n10.0.0.5"},
          {"SKYPILOT_NUM_GPUS_PER_NODE", "8"},
          {"SKYPILOT_TASK_ID", "sky-1"}};
}

inline Environment dstack() {
  return {{"DSTACK_NODES_NUM", "2"},
          {"DSTACK_NODE_RANK", "1"},
          {"DSTACK_MASTER_NODE_IP", "10.0.0.4"},
          {"DSTACK_NODES_IPS", "10.0.0.4\n10.0.0.5"},
          {"DSTACK_RUN_ID", "d-1"}};
}

inline Environment ngc() {
  return {{"NGC_ARRAY_SIZE", "2"}, {"NGC_ARRAY_INDEX", "1"}, {"NGC_MASTER_ADDR", "launcher-svc"}, {"NGC_JOB_ID", "77"}};
}

}  // namespace launch::starts
