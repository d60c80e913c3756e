// Nodes of a job as launch-ctl hears of them, for the tests of its screens. Their workers run.
#pragma once

#include "launch/core/control/node_report.hpp"

#include <string>

namespace launch {

inline NodeReport running_node(int rank, int nnodes, int workers, const WorkerReport& like) {
  NodeReport report;
  report.node_rank = rank;
  report.host = "n" + std::to_string(rank);
  report.run_id = "job";
  report.program = "train.py";
  report.pid = 100 + rank;
  report.state = "running";
  report.nnodes = nnodes;
  report.world_size = nnodes * workers;
  for (int i = 0; i < workers; ++i) {
    WorkerReport worker = like;
    worker.rank = rank * workers + i;
    worker.local_rank = i;
    worker.pid = 1000 + worker.rank;
    worker.state = "running";
    worker.last_line = "step 7";
    report.workers.push_back(worker);
  }
  return report;
}

}  // namespace launch
