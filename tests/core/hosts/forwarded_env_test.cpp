#include "launch/core/hosts/forwarded_env.hpp"

#include "launch/core/base/text.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace launch::forwarded_env_test {

using Lines = std::vector<std::string>;

TEST(ForwardedEnv, WhatSpeaksOfAHostASessionOrATaskStays) {
  constexpr std::string_view names =
      "PWD OLDPWD SHLVL _ HOSTNAME HOST HOSTTYPE SSH_CONNECTION SSH_AUTH_SOCK DISPLAY XAUTHORITY WAYLAND_DISPLAY "
      "XDG_RUNTIME_DIR XDG_SESSION_ID XDG_VTNR DBUS_SESSION_BUS_ADDRESS TMUX TMUX_PANE STY TERM_SESSION_ID "
      "TERM_PROGRAM TERM_PROGRAM_VERSION WINDOWID LS_COLORS LESS LESSOPEN BASH_FUNC_module%% TMPDIR TMP TEMP "
      "CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK "
      "ASCEND_RT_VISIBLE_DEVICES HABANA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES PMI_RANK PMI_FD PMIX_RANK "
      "OMPI_COMM_WORLD_RANK SLURM_PROCID SLURM_NODELIST SLURM_JOBID PBS_TASKNUM PBS_NODENUM PBS_JOBCOOKIE "
      "LSB_HOSTS LSB_MCPU_HOSTS FLUX_URI FLUX_TASK_RANK JOB_COMPLETION_INDEX KUBERNETES_SERVICE_HOST RANK LOCAL_RANK "
      "WORLD_SIZE MASTER_ADDR MASTER_PORT TORCHELASTIC_RUN_ID PET_NODE_RANK HOME USER LOGNAME SHELL "
      "PALS_RANKID MPI_LOCALRANKID MV2_COMM_WORLD_RANK HYDI_CONTROL_FD";
  for (const std::string_view name : split(names, ' ')) EXPECT_TRUE(stays_here(name)) << name;
}

TEST(ForwardedEnv, TheSwitchOfWatchdogTimersGoesAlong) {
  EXPECT_FALSE(stays_here("TORCHELASTIC_ENABLE_FILE_TIMER"));
  EXPECT_TRUE(stays_here("TORCHELASTIC_ERROR_FILE"));
}

TEST(ForwardedEnv, AllElseGoesAlong) {
  constexpr std::string_view names =
      "PATH LD_LIBRARY_PATH PYTHONPATH VIRTUAL_ENV CONDA_PREFIX LANG LC_ALL TERM NCCL_DEBUG OMP_NUM_THREADS "
      "SLURM_JOB_ID SLURM_CONF LSB_JOBID PBS_JOBID PBS_NODEFILE WANDB_API_KEY HF_HOME HOMEBREW_PREFIX USERNAME PWDX "
      "RANKS MASTER TMPDIRS SSHX XDG_CONFIG_HOME OMPI_MCA_btl I_MPI_DEBUG PET_NNODES CUDA_DEVICE_ORDER TZ rank";
  for (const std::string_view name : split(names, ' ')) EXPECT_FALSE(stays_here(name)) << name;
}

TEST(ForwardedEnv, OptionsAddAndReplace) {
  const Environment env{{"PATH", "/bin"}, {"HOME", "/root"}, {"A", "1"}, {"B", "x=y\nz"}, {"TMPDIR", "/scratch"}};
  EXPECT_EQ(forwarded(env, {}), (Lines{"A=1", "B=x=y\nz", "PATH=/bin"}));
  const Lines named{"TMPDIR", "A=2,3=4", "NEW=", "A=5"};
  EXPECT_EQ(forwarded(env, {false, named}), (Lines{"A=5", "B=x=y\nz", "NEW=", "PATH=/bin", "TMPDIR=/scratch"}));
  EXPECT_EQ(forwarded(env, {true, named}), (Lines{"A=5", "NEW=", "PATH=/bin", "TMPDIR=/scratch"}));
  EXPECT_EQ(forwarded(env, {true, {}}), (Lines{"PATH=/bin"}));
  EXPECT_EQ(forwarded(env, {true, {"PATH=/opt"}}), (Lines{"PATH=/opt"}));
  EXPECT_EQ(forwarded(Environment(), {true, {"UNSET", "=", "1X=2"}}), Lines());
}

TEST(ForwardedEnv, ANodeOfThisMachineBeginsWithALoginAndItsDevices) {
  const Environment env{{"HOME", "/root"},      {"USER", "me"},          {"LOGNAME", "me"},
                        {"SHELL", "/bin/sh"},   {"PATH", "/bin"},        {"LANG", "C"},
                        {"LC_TIME", "C.UTF-8"}, {"TZ", "UTC"},           {"TMPDIR", "/scratch"},
                        {"TMP", "/t"},          {"TEMP", "/t"},          {"XDG_RUNTIME_DIR", "/run/user/1"},
                        {"COLOUR", "blue"},     {"SSH_AUTH_SOCK", "/a"}, {"CUDA_VISIBLE_DEVICES", "2,3"},
                        {"DISPLAY", ":0"},      {"LANGUAGE", "en"},      {"ZE_AFFINITY_MASK", "0"},
                        {"RANK", "1"},          {"PET_NNODES", "2"}};
  const Lines login{"HOME=/root",      "LANG=C",        "LC_TIME=C.UTF-8", "LOGNAME=me",
                    "PATH=/bin",       "SHELL=/bin/sh", "TEMP=/t",         "TMP=/t",
                    "TMPDIR=/scratch", "TZ=UTC",        "USER=me",         "XDG_RUNTIME_DIR=/run/user/1"};
  EXPECT_EQ(local_login(env, {true, {"COLOUR"}}), login) << "--env is forwarded, as to other hosts";
  Lines with_devices = login;
  with_devices.insert(with_devices.begin(), "CUDA_VISIBLE_DEVICES=2,3");
  with_devices.push_back("ZE_AFFINITY_MASK=0");
  EXPECT_EQ(local_login(env, {}), with_devices);
  EXPECT_EQ(local_login(Environment(), {}), Lines());
}

TEST(ForwardedEnv, WrongNamesAreRefused) {
  const Environment env{{"A", "1"}, {"EMPTY", ""}};
  const std::pair<const char*, const char*> cases[] = {
      {"A,B=1", "--env A,B=1: A,B is not the name of a variable; repeat --env for each variable"},
      {"A,EMPTY", "--env A,EMPTY: A,EMPTY is not the name of a variable; repeat --env for each variable"},
      {"", R"(--env "": "" is not the name of a variable)"},
      {"=1", R"(--env =1: "" is not the name of a variable)"},
      {"1A=1", "--env 1A=1: 1A is not the name of a variable"},
      {"A B=1", R"(--env "A B=1": "A B" is not the name of a variable)"},
      {"B", "--env B: it is not set here; set it, or give a value: --env B=VALUE"},
  };
  for (const auto& [named, message] : cases) {
    const Status done = check_named({false, {"A", named}}, env);
    ASSERT_FALSE(done) << named;
    EXPECT_EQ(done.error().message, message);
    EXPECT_EQ(done.error().code, ErrorCode::usage);
  }
  EXPECT_TRUE(check_named({false, {"A", "EMPTY", "B=", "C=x,y=z", "_x9=1"}}, env));
  EXPECT_TRUE(check_named({true, {}}, env));
}

TEST(ForwardedEnv, AFileOfVariablesHasOneOnEachLine) {
  const auto read = parse_variables("NCCL_DEBUG=INFO\n\n  # A=1\nB=x = \"y\"  \r\nC=\nB=2");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (Lines{"NCCL_DEBUG=INFO", "B=x = \"y\"", "C=", "B=2"}));
  EXPECT_TRUE(parse_variables("")->empty());
  const std::pair<std::string, const char*> wrong[] = {
      {"A=1\nexport B=2\n", "line 2: expected NAME=VALUE, but it is \"export B=2\""},
      {"\n\nA", "line 3: expected NAME=VALUE, but it is A"},
      {"=1", "line 1: expected NAME=VALUE, but it is =1"},
      {std::string("A=\0", 3), "line 1: expected NAME=VALUE, but it is A=\\x00"}};
  for (const auto& [text, message] : wrong) {
    const auto refused = parse_variables(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().message, message);
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
  }
}

}  // namespace launch::forwarded_env_test
