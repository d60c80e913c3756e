#include "launch/io/flight_files.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace launch::flight_files_test {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST(FlightFiles, OnlyThoseOfThisJobAreRead) {
  std::string folder = testing::TempDir() + "flight_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  FlightFiles files{{{"TORCH_FR_DUMP_TEMP_FILE", folder + "/trace_"}}, instant().wall - 1s};
  for (const auto& [name, count] : {std::pair("trace_1", "K\x29"s), std::pair("trace_2", "N"s)})
    ASSERT_TRUE(write_file(folder + "/" + name, "X\x18\0\0\0last_enqueued_collectiveq\1"s + count));
  const std::vector<RankGroup> states = {{"sleeping (S)", {0, 1, 2}}};
  const std::vector<RankGroup> known = {{"sleeping (S)", {0, 2}}, {"has begun 41 collectives", {1}}};
  EXPECT_EQ(with_records(files, states, GlobalRank::none()), known);
  EXPECT_EQ(with_records(files, {{"sleeping (S)", {0, 2}}}, GlobalRank(1)), known);
  files.since += 1h;
  EXPECT_EQ(with_records(files, states, GlobalRank(1)), states);
  std::filesystem::remove_all(folder);
}

}  // namespace launch::flight_files_test
