#include "launch/core/options/key_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::key_values_test {

using ::testing::HasSubstr;

TEST(KeyValues, ReadsPairsAndTrimsBothSides) {
  const auto parsed = parse_key_values(" timeout = 30 ,rank=1, join_timeout=a b=c ");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, (KeyValues{{"timeout", "30"}, {"rank", "1"}, {"join_timeout", "a b=c"}}));
}

TEST(KeyValues, KnowsNeitherQuotesNorEscapes) { EXPECT_EQ(*parse_key_values("'a=1\\'"), (KeyValues{{"'a", "1\\'"}})); }

TEST(KeyValues, EmptyTextIsAnEmptyMap) {
  EXPECT_EQ(*parse_key_values(""), KeyValues{});
  EXPECT_EQ(*parse_key_values("  "), KeyValues{});
}

TEST(KeyValues, TheLastOfRepeatedKeysWins) { EXPECT_EQ(*parse_key_values("a=1,a=2"), (KeyValues{{"a", "2"}})); }

TEST(KeyValues, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* words;
  };
  const Case cases[] = {
      {"a=", "the key a has no value"},    {"a", "the key a has no value"}, {"a= ,b=1", "the key a has no value"},
      {"=1", "an entry has no key"},       {",", "an entry has no key"},    {"a=1,", "without a comma at the end"},
      {"a=1,,b=2", "an entry has no key"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_key_values(c.text);
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().code, ErrorCode::usage);
    EXPECT_THAT(parsed.error().message, HasSubstr(c.words)) << c.text;
  }
}

}  // namespace launch::key_values_test
