#include "launch/io/host_probe.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/remote_place.hpp"
#include "run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <sys/stat.h>
#include <sys/wait.h>
#include <boost/asio/io_context.hpp>

namespace launch::host_probe_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class HostProbe : public testing::Test {
 protected:
  void TearDown() override { remove_folder(folder_); }

  std::string program(const std::string& name, const std::string& script) {
    std::string path = folder_ + "/" + name;
    EXPECT_TRUE(write_file(path, "#!/bin/sh\n" + script));
    ::chmod(path.c_str(), 0755);
    return path;
  }
  HostSurvey survey(const ProbeRequest& request, Duration limit = 60s) {
    boost::asio::io_context io(1);
    return run(io, survey_host(request, limit));
  }

  std::string folder_ = make_private_folder("host-probe-");
  ProbeRequest request_{"localhost", "", "", "/tmp", {"PATH=/usr/bin:/bin"}};
};

TEST_F(HostProbe, LooksAtThisHost) {
  const HostSurvey found = survey(request_);
  EXPECT_EQ(found.unfinished, "");
  EXPECT_EQ(found.machine, machine());
  EXPECT_EQ(found.tmp.path, "/tmp");
  EXPECT_GT(found.tmp.total_mib, 0);
  EXPECT_GT(found.shm.total_mib, 0);
  EXPECT_NE(found.limits.open_files, not_known);
  EXPECT_NE(found.limits.processes, not_known);
  EXPECT_NE(found.limits.locked_mib, not_known);
  EXPECT_THAT(found.name_leads_to, testing::Contains(testing::AnyOf("127.0.0.1", "::1")));
  for (const SurveyedInterface& one : found.interfaces) {
    EXPECT_GT(one.mtu, 0) << one.name;
    EXPECT_FALSE(one.addresses.empty());
  }
  EXPECT_EQ(found.python, SurveyedPython());
  EXPECT_EQ(found.gpus.fault, "");
}

TEST_F(HostProbe, ANameThatIsNotKnown) {
  request_.hostname = "no-such-host.invalid";
  const HostSurvey found = survey(request_);
  EXPECT_TRUE(found.name_leads_to.empty());
  EXPECT_NE(found.name_fault, "");
}

TEST_F(HostProbe, PythonSaysWhatItIs) {
  request_.python = program("python", "test \"$1\" = -c && printf '3.11.2\\n2.3.0+cu121\\nCUDA 12.1\\n'");
  const SurveyedPython python = survey(request_).python;
  EXPECT_EQ(python, (SurveyedPython{request_.python, "3.11.2", "2.3.0+cu121", "CUDA 12.1", ""}));
  request_.python = program("python", "echo 3.9.0");
  EXPECT_EQ(survey(request_).python.torch, "");
  request_.python = program("python", "exit 1");
  EXPECT_EQ(survey(request_).python.fault, "it ends without an answer");
}

TEST_F(HostProbe, ThePythonOfThisHostKnowsThatQuestion) {
  request_.python = "/usr/bin/python3";
  if (file_size(request_.python) == 0) GTEST_SKIP() << "no Python here";
  const SurveyedPython python = survey(request_).python;
  EXPECT_THAT(python.version, testing::StartsWith("3."));
  EXPECT_EQ(python.fault, "");
}

TEST_F(HostProbe, GpusAreThoseOfNvidiaSmi) {
  request_.nvidia_smi =
      program("nvidia-smi", "case $1 in *gpu=*) echo '535.1, 81559, 80994, NVIDIA H100' ;; *) echo '1, 7' ;; esac");
  const HostSurvey found = survey(request_);
  EXPECT_THAT(found.gpus.gpus, ElementsAre(GpuLine{"NVIDIA H100", "535.1", 81'559, 80'994}));
  EXPECT_EQ(found.gpus.fault, "");
}

TEST_F(HostProbe, WhatDoesNotEndInTimeIsNamed) {
  request_.python = program("python", "exec sleep 1000");
  request_.nvidia_smi = program("nvidia-smi", "echo '535.1, 81559, 80994, NVIDIA H100'");
  const Time begin = now();
  const HostSurvey found = survey(request_, 500ms);
  EXPECT_LT(now() - begin, 15s) << "it was not waited for";
  EXPECT_EQ(found.unfinished, "python");
  EXPECT_EQ(found.machine, machine()) << "what was known before is told";
  EXPECT_TRUE(found.gpus.gpus.empty());
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0) << "it was abandoned, and is this process's child";
}

}  // namespace launch::host_probe_test
