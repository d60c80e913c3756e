// A LogFile beside what it was given: lines whole, losses told, on a disk that is full now and then.
#include "launch/core/base/random.hpp"
#include "launch/io/files.hpp"
#include "log_file_driver.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>

namespace launch::log_file_model_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The sizes that notes tell, and the bytes of the other lines.
struct Told {
  std::uint64_t lost = 0;
  std::uint64_t bytes = 0;
};

void tell(const std::string& content, const std::string& given, Told& told) {
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    line += lines.eof() ? "" : "\n";
    if (line.starts_with("[launch: ")) {
      ASSERT_THAT(line, HasSubstr(" bytes lost here: "));
      told.lost += std::stoul(line.substr(9));
    } else {
      told.bytes += line.size();
      ASSERT_NE(("\n" + given).find("\n" + line), std::string::npos) << "torn: " << line;
    }
  }
}

void play(const std::string& path, const Disk& disk, std::uint64_t seed) {
  Random random(seed);
  const std::uint64_t max_size = std::array{0, 300, 2'000}[random.next() % 3];
  Log out(path, max_size, 1'000);
  std::string coming;
  rlim_t full = unlimited;
  for (int i = 0; i < 300; ++i) {
    if (random.next() % 10 == 0) full = random.next() % 2 == 0 ? unlimited : random.next() % 3'000;
    disk.hold(full);
    coming += "line " + std::to_string(i) + std::string(random.next() % 40, 'x') + "\n";
    if (random.next() % 3 == 0) coming += "another " + std::to_string(i) + "\n";
    const std::string text = coming.substr(0, 1 + random.next() % coming.size());
    coming.erase(0, text.size());
    if (random.next() % 20 == 0) {
      out.lose(text);
    } else {
      out.append(text);
    }
    if (i % 10 > 0) continue;
    disk.hold(unlimited);
    ASSERT_NO_FATAL_FAILURE(out.check());
  }
  disk.hold(unlimited);
  out.finish();
  ASSERT_NO_FATAL_FAILURE(out.check());
  Told told;
  ASSERT_NO_FATAL_FAILURE(tell(read_file(path, 1 << 20), out.given, told));
  for (int age = 1; fs::exists(path + "." + std::to_string(age)); ++age)
    ASSERT_NO_FATAL_FAILURE(tell(read_file(path + "." + std::to_string(age), 1 << 20), out.given, told));
  EXPECT_EQ(told.bytes, out.in_file);
  EXPECT_EQ(told.lost, out.lost());
}

TEST(LogFileModel, FilesHaveOrTellEveryByte) {
  std::string folder = testing::TempDir() + "log_file_model_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const Disk disk;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_NO_FATAL_FAILURE(play(folder + "/out" + std::to_string(seed), disk, seed));
  }
  fs::remove_all(folder);
}

}  // namespace launch::log_file_model_test
