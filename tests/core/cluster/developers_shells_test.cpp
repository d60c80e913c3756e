// In none of the places where people type or test does launch take itself for a node of a job that it must wait for.
// The variables are those that the makers' documentation names.
#include "../../support/starts.hpp"

#include "launch/core/cluster/cluster_start.hpp"

#include <gtest/gtest.h>

namespace launch::developers_shells_test {

struct Shell {
  const char* name;
  Environment env;
};

std::vector<Shell> people() {
  return {
      {"ssh", {{"SSH_CONNECTION", "10.0.0.9 50000 10.0.0.1 22"}, {"SSH_TTY", "/dev/pts/0"}}},
      {"tmux", {{"TMUX", "/tmp/tmux-0/default,1,0"}, {"TMUX_PANE", "%0"}}},
      {"screen", {{"STY", "1.pts-0.n1"}, {"WINDOW", "0"}}},
      {"VS Code", {{"TERM_PROGRAM", "vscode"}, {"VSCODE_IPC_HOOK_CLI", "/tmp/vscode-ipc.sock"}}},
      {"Cursor, JetBrains", {{"TERMINAL_EMULATOR", "JetBrains-JediTerm"}, {"CURSOR_TRACE_ID", "1"}}},
      {"Jupyter", {{"JPY_PARENT_PID", "7"}, {"JPY_SESSION_NAME", "x.ipynb"}}},
      {"JupyterHub in Kubernetes",
       {{"JUPYTERHUB_USER", "ann"}, {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"HOSTNAME", "jupyter-ann"}}},
      {"Colab", {{"COLAB_GPU", "1"}, {"COLAB_RELEASE_TAG", "release"}, {"NVIDIA_VISIBLE_DEVICES", "all"}}},
      {"Kaggle", {{"KAGGLE_KERNEL_RUN_TYPE", "Interactive"}, {"KAGGLE_CONTAINER_NAME", "kaggle"}}},
      {"Codespaces", {{"CODESPACES", "true"}, {"CODESPACE_NAME", "x"}, {"GITHUB_TOKEN", "t"}}},
      {"Gitpod", {{"GITPOD_WORKSPACE_ID", "x"}, {"GITPOD_INSTANCE_ID", "y"}}},
      {"direnv, conda", {{"CONDA_PREFIX", "/opt/conda"}, {"DIRENV_DIR", "-/home/ann"}, {"VIRTUAL_ENV", "/v"}}},
      {"dev container", {{"REMOTE_CONTAINERS", "true"}, {"HOSTNAME", "4f2a"}}},
      {"Docker", {{"HOSTNAME", "4f2a"}, {"NVIDIA_VISIBLE_DEVICES", "all"}, {"PYTORCH_VERSION", "2.13.0"}}},
      {"NGC's image",
       {{"NVIDIA_BUILD_ID", "1"}, {"NVIDIA_PYTORCH_VERSION", "25.01"}, {"OMPI_MCA_coll_hcoll_enable", "0"}}},
      {"enroot's hook", {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "61000"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}}},
      {"an export that stayed", {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}, {"NODE_RANK", "1"}, {"NNODES", "2"}}},
      {"the same in a pod",
       {{"MASTER_ADDR", "localhost"}, {"RANK", "0"}, {"WORLD_SIZE", "8"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}},
      {"RANK alone", {{"RANK", "1"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "8"}}},
      {"MPI's tuning", {{"OMPI_MCA_btl", "tcp"}, {"I_MPI_FABRICS", "ofi"}, {"HYDRA_BOOTSTRAP", "slurm"}}},
      {"PMI without its starter", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMIX_RANK", "1"}}},
      {"Run:ai", {{"RUNAI_JOB_NAME", "x"}, {"RUNAI_NUM_OF_GPUS", "1"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}},
      {"Determined", {{"DET_ALLOCATION_ID", "1"}, {"DET_SLOT_IDS", "[0]"}}},
      {"SageMaker's notebook", {{"AWS_REGION", "eu"}, {"SAGEMAKER_APP_TYPE", "JupyterLab"}}},
      {"AzureML's compute instance", {{"AZUREML_RUN_ID", "x"}, {"AZUREML_NODE_COUNT", "1"}}},
      {"Databricks", {{"DATABRICKS_RUNTIME_VERSION", "15"}, {"SPARK_HOME", "/s"}, {"MASTER", "local"}}},
      {"Vast, Lambda, RunPod", {{"RUNPOD_POD_ID", "x"}, {"RUNPOD_GPU_COUNT", "8"}, {"VAST_CONTAINERLABEL", "C.1"}}},
      {"PBS's script", {{"PBS_JOBID", "12.s"}, {"PBS_NODEFILE", "/n"}, {"PBS_NODENUM", "0"}, {"PBS_TASKNUM", "1"}}},
      {"LSF's script", {{"LSB_JOBID", "12"}, {"LSB_MCPU_HOSTS", "h1 8 h2 8"}, {"LSB_DJOB_NUMPROC", "16"}}},
      {"SGE's script", {{"JOB_ID", "12"}, {"PE_HOSTFILE", "/h"}, {"NHOSTS", "2"}, {"NSLOTS", "16"}}},
      {"Flux's script", {{"FLUX_URI", "local:///run/flux/local"}, {"FLUX_ENCLOSING_ID", "f1"}}},
      {"OAR, Cobalt, HTCondor", {{"OAR_NODEFILE", "/o"}, {"COBALT_JOBID", "1"}, {"_CONDOR_SCRATCH_DIR", "/c"}}}};
}

std::vector<Shell> runners() {
  return {
      {"GitHub Actions", {{"CI", "true"}, {"GITHUB_ACTIONS", "true"}, {"RUNNER_NAME", "r"}, {"GITHUB_JOB", "test"}}},
      {"GitLab CI", {{"CI", "true"}, {"GITLAB_CI", "true"}, {"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "4"}}},
      {"GitLab's runner in Kubernetes", {{"GITLAB_CI", "true"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}},
      {"Jenkins",
       {{"JENKINS_URL", "http://j"}, {"BUILD_NUMBER", "1"}, {"NODE_NAME", "agent"}, {"EXECUTOR_NUMBER", "0"}}},
      {"Buildkite", {{"BUILDKITE", "true"}, {"BUILDKITE_PARALLEL_JOB", "1"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "4"}}},
      {"CircleCI", {{"CIRCLECI", "true"}, {"CIRCLE_NODE_INDEX", "1"}, {"CIRCLE_NODE_TOTAL", "4"}}},
      {"Travis", {{"TRAVIS", "true"}, {"TRAVIS_JOB_ID", "1"}}},
      {"Azure Pipelines", {{"TF_BUILD", "True"}, {"AGENT_NAME", "a"}, {"SYSTEM_JOBPOSITIONINPHASE", "2"}}},
      {"TeamCity", {{"TEAMCITY_VERSION", "2025"}, {"BUILD_NUMBER", "1"}}},
      {"Drone, Woodpecker", {{"DRONE", "true"}, {"CI_PIPELINE_NUMBER", "1"}}},
      {"Bitbucket", {{"BITBUCKET_BUILD_NUMBER", "1"}, {"BITBUCKET_PARALLEL_STEP", "1"}}},
      {"AWS CodeBuild", {{"CODEBUILD_BUILD_ID", "x"}, {"AWS_REGION", "eu"}}},
      {"AWS Batch, one node", {{"AWS_BATCH_JOB_ID", "x"}, {"AWS_BATCH_JOB_ARRAY_INDEX", "3"}}},
      {"Google Cloud Build", {{"BUILD_ID", "x"}, {"PROJECT_ID", "y"}}},
      {"Tekton, Argo", {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"ARGO_CONTAINER_NAME", "main"}}},
      {"a StatefulSet", {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "web-2"}}},
      {"pytest-xdist", {{"PYTEST_XDIST_WORKER", "gw1"}, {"PYTEST_XDIST_WORKER_COUNT", "4"}}},
      {"tox, nox", {{"TOX_ENV_NAME", "py311"}, {"NOX_CURRENT_SESSION", "tests"}}},
      {"cron, systemd", {{"INVOCATION_ID", "x"}, {"JOURNAL_STREAM", "8:1"}, {"LOGNAME", "ann"}}}};
}

TEST(DevelopersShells, NobodyIsWaitedFor) {
  std::vector<Shell> all = people();
  for (Shell& shell : runners()) all.push_back(std::move(shell));
  EXPECT_EQ(all.size(), 51U);
  for (const Shell& shell : all) {
    const auto view = view_cluster(shell.env, starts::pod("n1"));
    ASSERT_TRUE(view) << shell.name << ": " << view.error().message;
    EXPECT_FALSE(view->start) << shell.name;
    // A pod that might be of a PyTorchJob, and a script that has several nodes.
    const bool is_told =
        (shell.env.get("RANK") == "0" && shell.env.get("KUBERNETES_SERVICE_HOST")) || shell.env.get("LSB_MCPU_HOSTS");
    EXPECT_EQ(!view->notice.empty(), is_told) << shell.name;
  }
}

}  // namespace launch::developers_shells_test
