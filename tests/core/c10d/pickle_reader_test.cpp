#include "launch/core/c10d/pickle_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace launch::pickle_reader_test {

using namespace std::string_literals;
using testing::HasSubstr;

TEST(PickleReader, ReadsScalars) {
  const std::string bytes = "\x80\x05K\x07."s;
  PickleReader reader(bytes);
  ASSERT_TRUE(reader.read());
  EXPECT_EQ(reader.root().kind, PickleKind::number);
  EXPECT_EQ(reader.root().number, 7);
}

TEST(PickleReader, NumbersHaveTheirSign) {
  for (const auto& [bytes, number] :
       {std::pair<std::string, int>{"K\xff."s, 255}, {"M\xff\xff."s, 65535}, {"J\xff\xff\xff\xff."s, -1}}) {
    PickleReader reader(bytes);
    ASSERT_TRUE(reader.read());
    EXPECT_EQ(reader.root().number, number);
  }
}

TEST(PickleReader, ContainersHoldWhatWasPutIn) {
  const std::string bytes =
      "}(\x8c\x01"
      "aK\x01\x8c\x01"
      "bNu\x94\x8c\x01"
      "c\x88s."s;
  PickleReader reader(bytes);
  ASSERT_TRUE(reader.read());
  EXPECT_EQ(reader.root().kind, PickleKind::dict);
  const auto& items = reader.items(reader.root());
  ASSERT_EQ(items.size(), 6U);
  EXPECT_EQ(reader.value(items[4]).text, "c");
  EXPECT_EQ(reader.value(items[5]).kind, PickleKind::truth);
}

TEST(PickleReader, WhatIsRememberedIsTheSame) {
  const std::string bytes = "}\x94(h\x00h\x00u."s;
  PickleReader reader(bytes);
  ASSERT_TRUE(reader.read());  // a dict that holds itself: nothing walks it
}

TEST(PickleReader, MissingOperandsAreErrors) {
  for (const std::string& bytes : {"."s, "N)."s, "u."s, "}u."s, "s."s, "R."s, "b."s, "\x81."s, "\x85."s, "\x94."s,
                                   "h\x00."s, "(\x94."s, "\x93."s, "N\x90."s, "\x80\x06N."s, "(."s}) {
    PickleReader reader(bytes);
    const Status read = reader.read();
    EXPECT_FALSE(read && reader.root().kind != PickleKind::mark) << bytes;
  }
}

TEST(PickleReader, TimesAreChecked) {
  const std::string begin =
      "\x8c\x08"
      "datetime\x8c\x08"
      "datetime\x93"
      "C\x0a"s;
  const std::string good = "\x07\xea\x0b\x15\x09\x30\x35\x01\x81\x1f"s;
  const std::string end = "\x85R."s;
  const std::string bytes = begin + good + end;
  PickleReader reader(bytes);
  ASSERT_TRUE(reader.read());
  EXPECT_EQ(reader.root().kind, PickleKind::naive_time);
  for (std::size_t at : {2U, 3U, 4U, 5U, 6U, 7U}) {
    std::string bad = good;
    bad[at] = '\xff';
    const std::string wrong = begin + bad + end;
    PickleReader other(wrong);
    EXPECT_THAT(other.read().error().message, HasSubstr("a wrong datetime"));
  }
}

}  // namespace launch::pickle_reader_test
