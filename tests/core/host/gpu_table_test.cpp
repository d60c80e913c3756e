#include "launch/core/host/gpu_table.hpp"

#include <gtest/gtest.h>

namespace launch::gpu_table_test {

TEST(GpuTable, LinesOfNvidiaSmi) {
  EXPECT_EQ(parse_gpu_lines("535.104.05, 81559, 80994, NVIDIA H100 80GB HBM3\n"
                            "535.104.05, 81559, 1024, NVIDIA H100 80GB HBM3\n"),
            (std::vector<GpuLine>{{"NVIDIA H100 80GB HBM3", "535.104.05", 81559, 80994},
                                  {"NVIDIA H100 80GB HBM3", "535.104.05", 81559, 1024}}));
  EXPECT_EQ(parse_gpu_process_lines("4711, 512\n12, [N/A]\n"), (std::vector<GpuProcessLine>{{4711, 512}, {12, -1}}));
}

TEST(GpuTable, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(parse_gpu_lines("[N/A], [N/A], [Not Supported], Orin (nvgpu), 8 SM\n"),
            (std::vector<GpuLine>{{"Orin (nvgpu), 8 SM", "", -1, -1}}));
  for (const char* other : {"", "\n\n", "No devices were found\n", "1, 2, 3\n", "1, 2, 3, \n",
                            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"})
    EXPECT_TRUE(parse_gpu_lines(other).empty()) << other;
  for (const char* other : {"", "0, 1\n", "-7, 1\n", "99999999999, 1\n", "pid, 1\n"})
    EXPECT_TRUE(parse_gpu_process_lines(other).empty()) << other;
}

TEST(GpuTable, IsBoundedAndSafeToShow) {
  std::string gpus, processes;
  for (int i = 1; i < 5000; ++i) {
    gpus += "1, 2, 3, GPU\n";
    processes += std::to_string(i) + ", 1\n";
  }
  EXPECT_EQ(parse_gpu_lines(gpus).size(), most_gpu_lines);
  EXPECT_EQ(parse_gpu_process_lines(processes).size(), most_gpu_process_lines);
  const auto lines = parse_gpu_lines("1, 2, 3, \x1b[31m" + std::string(500, 'x'));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].name.size(), 100U);
  EXPECT_EQ(lines[0].name.find('\x1b'), std::string::npos);
}

}  // namespace launch::gpu_table_test
