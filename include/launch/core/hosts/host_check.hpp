// What is wrong with one host before a job, judged by its survey (core/hosts/host_facts) and by what the job needs: a
// row for each check. What differs between hosts is not judged here, see core/hosts/host_compare. Used by
// core/hosts/doctor. Pure. What a host could not find out gives no row, except the check that it did not end in time.
#pragma once

#include "launch/core/hosts/check_table.hpp"
#include "launch/core/hosts/host_facts.hpp"

#include <vector>

namespace launch {

struct CheckNeeds {
  bool program = false;  // one is named
  bool gpus = false;     // workers are counted by GPUs: --nproc-per-node=gpu
  int workers = 0;       // on this host; 0: not said as a number
};

std::vector<CheckRow> check_host(int node, const HostSurvey& survey, const CheckNeeds& needs);

}  // namespace launch
