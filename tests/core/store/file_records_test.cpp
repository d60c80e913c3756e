#include "launch/core/store/file_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::file_records_test {

using testing::ElementsAre;
using namespace std::string_literals;

// Written by torch.distributed.FileStore of PyTorch 2.13.
const std::string of_torch = "\x09\0\0\0refcount/\x01\0\0\0"s + "1" + "\x02\0\0\0/a\x01\0\0\0"s + "1" +
                             "\x02\0\0\0/n\x01\0\0\0"s + "5" + "\x02\0\0\0/c\x04\0\0\0mine"s + "\x03\0\0\0-/a\0\0\0\0"s;

// A file, and the operations on it one after the other.
struct Driver {
  FileRecords records;
  std::string file;

  std::optional<Outcome> perform(const Operation& operation) {
    auto answer = records.on(operation);
    EXPECT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->append.empty(), !changes_file(operation) || answer->append.empty());
    file += answer->append;
    EXPECT_TRUE(records.read(answer->append));
    return answer->outcome;
  }
  template <class Kind>
  Kind outcome(const Operation& operation) {
    return std::get<Kind>(perform(operation).value());
  }
};

TEST(FileRecords, ThoseOfPyTorchAreRead) {
  FileRecords records;
  ASSERT_TRUE(records.read(of_torch));
  Driver driver{records, {}};
  EXPECT_THAT(driver.outcome<Values>(GetKeys{{"/a", "/n", "/c"}}).values, ElementsAre("", "5", "mine"));
  EXPECT_THAT(driver.outcome<Presence>(CheckKeys{{"/a", "/n"}}).present, ElementsAre(false, true));
  EXPECT_THAT(driver.outcome<Values>(ListKeys{}).values, ElementsAre("/c", "/n"));
}

TEST(FileRecords, OursAreTheSameBytes) {
  Driver driver;
  EXPECT_TRUE(driver.records.read(of_torch.substr(0, 18)));
  driver.file = of_torch.substr(0, 18);
  driver.perform(SetKeys{{{"/a", "1"}}});
  EXPECT_EQ(driver.outcome<Number>(AddNumber{"/n", 5}).value, 5);
  EXPECT_THAT(driver.outcome<Values>(CompareSet{"/c", "", "mine"}).values, ElementsAre("mine"));
  EXPECT_THAT(driver.outcome<Values>(CompareSet{"/c", "x", "theirs"}).values, ElementsAre("mine"));
  EXPECT_THAT(driver.outcome<Values>(CompareSet{"/zz", "x", "y"}).values, ElementsAre("x"));
  EXPECT_EQ(driver.outcome<Number>(DeleteKeys{{"/a", "/zz"}}).value, 1);
  EXPECT_EQ(driver.file, of_torch);
}

TEST(FileRecords, AWaitHasAnOutcomeOnceAllItsKeysAreThere) {
  Driver driver;
  driver.perform(SetKeys{{{"/a", "1"}}});
  EXPECT_EQ(driver.perform(AwaitKeys{{"/a", "/b"}}), std::nullopt);
  driver.perform(SetKeys{{{"/b", ""}}});
  EXPECT_NE(driver.perform(AwaitKeys{{"/a", "/b"}}), std::nullopt);
}

TEST(FileRecords, WhatIsNoFileOfAStoreIsAnError) {
  for (const std::string& bytes : {"x"s, "\x01\0\0\0"s, "\x01\0\0\0a"s, "\x01\0\0\0a\x02\0\0\0b"s,
                                   "#!/bin/sh\necho hello, world\n"s, "\x01\0\0\0a\xff\xff\xff\xff"s})
    EXPECT_FALSE(FileRecords().read(bytes)) << bytes;
  Driver driver;
  driver.perform(SetKeys{{{"/n", "many"}}});
  EXPECT_FALSE(driver.records.on(AddNumber{"/n", 1}));
  EXPECT_FALSE(driver.records.on(Attend{"/a", "{}"}));
  EXPECT_FALSE(driver.records.on(LeaveWill{}));
}

TEST(FileRecords, OnlyWhatMayAppendNeedsTheFileForItself) {
  for (const Operation& changes : std::vector<Operation>{SetKeys{}, CompareSet{}, AddNumber{}, DeleteKeys{}})
    EXPECT_TRUE(changes_file(changes));
  for (const Operation& reads : std::vector<Operation>{GetKeys{}, CheckKeys{}, AwaitKeys{}, ListKeys{}})
    EXPECT_FALSE(changes_file(reads));
}

}  // namespace launch::file_records_test
