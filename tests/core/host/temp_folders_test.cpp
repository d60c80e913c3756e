#include "launch/core/host/temp_folders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::temp_folders_test {

using ::testing::ElementsAre;

TEST(TempFolders, AreThoseOfPythonInItsOrder) {
  EXPECT_THAT(temp_folders({}, false), ElementsAre("/tmp", "/var/tmp", "/usr/tmp", "."));
  EXPECT_THAT(temp_folders({{"TMP", "/c"}, {"TMPDIR", "/a"}, {"TEMP", "b"}}, false),
              ElementsAre("/a", "b", "/c", "/tmp", "/var/tmp", "/usr/tmp", "."));
}

TEST(TempFolders, AnEmptyVariableNamesNone) {
  EXPECT_THAT(temp_folders({{"TMPDIR", ""}, {"TMP", "/c"}}, false),
              ElementsAre("/c", "/tmp", "/var/tmp", "/usr/tmp", "."));
}

TEST(TempFolders, MemoryComesAfterWhatTheUserNames) {
  EXPECT_THAT(temp_folders({{"TEMP", "/b"}}, true), ElementsAre("/b", "/dev/shm", "/tmp", "/var/tmp", "/usr/tmp", "."));
}

}  // namespace launch::temp_folders_test
