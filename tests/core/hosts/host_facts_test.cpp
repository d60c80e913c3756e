#include "launch/core/hosts/host_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_facts_test {

HostSurvey some_survey() {
  HostSurvey survey;
  survey.faults = {{"folder", "the folder \"/données\" is not there"}};
  survey.machine = "x86_64";
  survey.python = {"/usr/bin/python3", "3.11.2", "2.3.0", "CUDA 12.1", ""};
  survey.gpus = {{{"NVIDIA H100", "535.104.05", 81'559, 80'000}, {"NVIDIA H100", "535.104.05", 81'559, -1}},
                 2,
                 "CUDA",
                 "it did not answer"};
  survey.processes = {{4711, "python train.py", "job1", true, false}, {12, "python", "", false, true}};
  survey.shm = {"/dev/shm", 64, 0};
  survey.tmp = {"/tmp", 100'000, 7};
  survey.limits = {1024, limitless, 8};
  survey.name_leads_to = {"127.0.1.1"};
  survey.name_fault = "Name or service not known";
  survey.interfaces = {{"eth0", {"10.0.0.1", "fd00::1"}, 1500}, {"ib0", {}, 2044}};
  survey.rdma_devices = 1;
  survey.asked_us = 1'790'000'000'000'000;
  survey.answered_us = 1'790'000'000'000'001;
  survey.unfinished = "gpus";
  return survey;
}

TEST(HostFacts, IsReadAsItWasWritten) {
  EXPECT_EQ(*parse_survey(to_json(some_survey())), some_survey());
  EXPECT_EQ(*parse_survey(to_json(HostSurvey())), HostSurvey());
  EXPECT_EQ(to_json(some_survey()).find('\n'), std::string::npos);
}

TEST(HostFacts, WhatIsNotThereIsNotKnown) {
  EXPECT_EQ(*parse_survey("{}"), HostSurvey());
  EXPECT_EQ(*parse_survey(R"({"later": [1], "python": 7, "limits": [], "faults": {}, "asked": -5, "shm": {"free": "x"},
                              "interfaces": "eth0", "processes": null, "rdma_devices": 1e9})"),
            HostSurvey());
  for (const char* other : {"", "[]", "7", "{", "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}"}) {
    const auto read = parse_survey(other);
    ASSERT_FALSE(read) << other;
    EXPECT_EQ(read.error().code, ErrorCode::protocol);
  }
}

TEST(HostFacts, IsBoundedBothWays) {
  const std::string quotes(5'000, '"');
  HostSurvey survey = some_survey();
  survey.faults.assign(100, {quotes, quotes});
  survey.python = {quotes, quotes, quotes, quotes, quotes};
  survey.gpus = {std::vector<GpuLine>(100, {quotes, quotes, 1, 1}), 1, quotes, quotes};
  survey.processes.assign(1'000, {1, quotes, quotes, true, true});
  survey.name_leads_to.assign(100, quotes);
  survey.interfaces.assign(100, {quotes, std::vector<std::string>(100, quotes), 1500});
  survey.name_fault = survey.unfinished = survey.machine = quotes;
  const std::string json = to_json(survey);
  EXPECT_LE(json.size(), longest_survey);
  const auto read = parse_survey(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->faults.size(), 4U);
  EXPECT_EQ(read->faults[0].reason.size(), 400U);
  EXPECT_EQ(read->gpus.gpus.size(), most_gpu_lines);
  EXPECT_EQ(read->processes.size(), 16U);
  EXPECT_EQ(*parse_survey(to_json(*read)), *read);
  EXPECT_FALSE(parse_survey(std::string(longest_survey, ' ') + "{}"));
}

TEST(HostFacts, TextOfAHostIsSafeToShow) {
  HostSurvey survey;
  survey.processes = {{1, "a\nb\x1b[31m \xff", "", false, false}};
  const auto read = parse_survey(to_json(survey));
  ASSERT_TRUE(read) << "although it was not UTF-8";
  EXPECT_THAT(read->processes[0].command, testing::StartsWith("a b [31m "));
  EXPECT_EQ(parse_survey(R"({"machine": "x\u001b[2J"})")->machine, "x [2J");
}

}  // namespace launch::host_facts_test
