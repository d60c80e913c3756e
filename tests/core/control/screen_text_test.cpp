#include "launch/core/control/screen_text.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace launch::screen_text_test {
namespace {

TEST(ScreenText, SizesAndAges) {
  EXPECT_EQ("12 KiB", bytes_text(12 << 10));
  EXPECT_EQ("700 MiB", bytes_text(std::int64_t{700} << 20));
  EXPECT_EQ("1.5 GiB", bytes_text(std::int64_t{3} << 29));
  EXPECT_EQ("0 s", age_text(0.01));
  EXPECT_EQ("2.5 s", age_text(2.5));
  EXPECT_FALSE(age_text(1e300).empty());
}

TEST(ScreenText, NothingOfAWorkerIsObeyed) {
  EXPECT_EQ("red", safe_text("\x1b[31mred\x1b[0m", 100));
  EXPECT_EQ(std::string::npos, safe_text("a\x1b]0;title\x07"
                                         "b\n\r",
                                         100)
                                   .find_first_of("\x1b\x07\n\r"));
}

TEST(ScreenText, LinesFit) {
  std::string text;
  add_line(text, std::string(100, 'x'), 30);
  add_line(text, "end   ", 30);
  EXPECT_EQ(std::string(30, 'x') + "\nend\n", text);
}

TEST(ScreenText, TheCellsOfAWorker) {
  using Cells = std::vector<std::string>;
  const auto cells_of = [](const WorkerReport& worker) {
    Cells cells;
    add_cells(cells, worker);
    return cells;
  };
  WorkerReport worker;
  EXPECT_EQ(Cells(columns_of_workers().size()), cells_of(worker));
  worker.state = "ended";
  worker.end = "exit code 3";
  EXPECT_EQ((Cells{"ended", "", "", "", "", "", "", "exit code 3"}), cells_of(worker));
  worker.last_line = "step 7";
  worker.last_line_age_s = 2;
  worker.step = 7;
  worker.rate = 9.93;
  worker.cpu_percent = 99.6;
  worker.memory_bytes = std::int64_t{3} << 29;
  worker.gpu_memory_bytes = std::int64_t{9} << 30;
  EXPECT_EQ((Cells{"ended", "100%", "1.5 GiB", "9.0 GiB", "7", "9.9/s", "2 s", "exit code 3; step 7"}),
            cells_of(worker));
}

}  // namespace
}  // namespace launch::screen_text_test
