// The screens of launch-ctl as users see them, of jobs with 8, 64 and 2,000 ranks: the files in tests/data/screens.
// LAUNCH_UPDATE_GOLDEN=1 writes them; look at the difference before you keep it.
#include "launch/core/base/text.hpp"
#include "launch/core/control/status_screen.hpp"
#include "launch/core/control/top_screen.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace launch::screens_test {
namespace {

struct Size {
  int nodes;
  int gpus;
};

WorkerReport busy_worker(int rank, int local_rank) {
  WorkerReport worker;
  worker.rank = rank;
  worker.local_rank = local_rank;
  worker.pid = 41'000 + local_rank * 7;
  worker.state = "running";
  worker.cpu_percent = 100 + rank % 7;
  worker.memory_bytes = (std::int64_t{3} << 30) + rank * (std::int64_t{1} << 20);
  worker.gpu_memory_bytes = (std::int64_t{61} << 30) + (std::int64_t{1} << 20) * (rank % 100);
  worker.step = 18'240;
  worker.rate = 2.43;
  worker.step_age_s = 93;  // all wait for the one that lags
  worker.last_line =
      "2026-11-27 14:05:31 | INFO | train | step 18240 | loss 2.1463 | grad norm 0.41 | lr 2.9e-04 | 51.2k tokens/s";
  worker.last_line_age_s = 0.3;
  worker.stack = {"wait (torch/distributed/distributed_c10d.py:2810)",
                  "all_reduce (torch/distributed/distributed_c10d.py:2901)",
                  "backward (/home/ana/llm/src/trainer/data_parallel.py:418)", "main (/home/ana/llm/train.py:96)"};
  return worker;
}

// A healthy job.
std::vector<NodeReport> job_of(const Size& size) {
  std::vector<NodeReport> nodes;
  for (int rank = 0; rank < size.nodes; ++rank) {
    NodeReport node;
    node.node_rank = rank;
    node.host = fmt::format("gpu-a-{:03}", rank + 1);
    node.run_id = "llm-7b-run12";
    node.program = "train.py";
    node.pid = 40'911 + rank;
    node.state = "running";
    node.since = "2026-11-27 12:01:07";
    node.age_s = 7465;
    node.round = 1;
    node.restart = 1;
    node.nnodes = size.nodes;
    node.world_size = size.nodes * size.gpus;
    for (int local = 0; local < size.gpus; ++local)
      node.workers.push_back(busy_worker(rank * size.gpus + local, local));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

WorkerReport& worker_of(std::vector<NodeReport>& nodes, std::size_t rank) {
  const std::size_t gpus = nodes[0].workers.size();
  return nodes.at(rank / gpus).workers.at(rank % gpus);
}

// A rank that loads data while the others wait for it.
void let_lag(WorkerReport& worker) {
  worker.step = 18'239;
  worker.cpu_percent = 3;
  worker.last_line_age_s = 94;
  worker.stack = {"read (/usr/lib/python3.11/ssl.py:1167)", "load_batch (/home/ana/llm/src/data/streaming.py:77)",
                  "main (/home/ana/llm/train.py:81)"};
}

void let_fail(WorkerReport& worker) {
  worker.state = "ended";
  worker.end = "killed by SIGKILL, out of memory";
  worker.pid = 0;
  worker.cpu_percent = worker.step = worker.rate = worker.last_line_age_s = std::nullopt;
  worker.memory_bytes = worker.gpu_memory_bytes = std::nullopt;
  worker.last_line.clear();
  worker.stack.clear();
}

std::vector<NodeReport> job_with_8() {
  std::vector<NodeReport> nodes = job_of({2, 4});
  let_lag(worker_of(nodes, 5));
  return nodes;
}

std::vector<NodeReport> job_with_64() {
  std::vector<NodeReport> nodes = job_of({8, 8});
  let_lag(worker_of(nodes, 43));
  worker_of(nodes, 17).stack.clear();
  return nodes;
}

std::vector<NodeReport> job_with_2000() {
  std::vector<NodeReport> nodes = job_of({250, 8});
  let_lag(worker_of(nodes, 1203));
  let_lag(worker_of(nodes, 1207));
  let_fail(worker_of(nodes, 777));
  nodes[99].workers.clear();
  nodes[99].host.clear();
  nodes[99].pid = 0;
  nodes[99].fault = "it has not answered within 3 s";
  return nodes;
}

using Draw = std::string (*)(const Screen&);

void expect_as_in(const std::string& name, const Screen& screen, Draw draw) {
  const std::string path = std::string(LAUNCH_TEST_DATA) + "/screens/" + name + ".txt";
  const std::string text = draw(screen);
  if (std::getenv("LAUNCH_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), text) << name;
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), screen.columns) << line;
}

// What the user of a terminal of 80 columns sees, and of one of 200.
void expect_screens(const std::string& ranks, const std::vector<NodeReport>& nodes) {
  expect_as_in("status_" + ranks, {nodes, 80}, status_screen);
  expect_as_in("status_wide_" + ranks, {nodes, 200}, status_screen);
  expect_as_in("top_" + ranks, {nodes, 80, 24}, top_screen);
  expect_as_in("stacks_" + ranks, {nodes, 80}, stacks_screen);
}

TEST(Screens, OfEightRanks) { expect_screens("8", job_with_8()); }

TEST(Screens, OfSixtyFourRanks) { expect_screens("64", job_with_64()); }

TEST(Screens, OfTwoThousandRanks) { expect_screens("2000", job_with_2000()); }

TEST(Screens, ThePageOfTwoThousandRanksFitsTheTerminal) {
  const std::string text = top_screen({job_with_2000(), 80, 24});
  EXPECT_EQ(24U, split(text, '\n').size() - 1);
}

}  // namespace
}  // namespace launch::screens_test
