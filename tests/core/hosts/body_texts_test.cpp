#include "launch/core/hosts/body_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::body_texts_test {

using namespace body_texts;
using testing::ElementsAre;
using testing::Optional;

JsonValue value_of(std::string_view json) { return read_json(json, {.size = 1'000'000, .depth = 8}); }

TEST(BodyTexts, ATextIsItselfOrBase64) {
  EXPECT_THAT(read_text(value_of(R"("plain")"), 10), Optional(std::string("plain")));
  EXPECT_THAT(read_text(value_of(R"({"b64": "YQD/Cg=="})"), 10), Optional(std::string("a\0\xff\n", 4)));
  EXPECT_FALSE(read_text(value_of(R"({"b64": "YQD/Cg=="})"), 3)) << "too long once it is decoded";
  EXPECT_FALSE(read_text(value_of(R"({"b64": "?"})"), 5));
  EXPECT_FALSE(read_text(value_of("7"), 5));
}

TEST(BodyTexts, AWordHasNoZeroByte) {
  EXPECT_FALSE(read_word(value_of(R"({"b64": "YQBi"})"), 10));
  EXPECT_THAT(read_words(value_of(R"(["a", {"b64": "/w=="}])"), 100), Optional(ElementsAre("a", "\xff")));
  EXPECT_FALSE(read_words(value_of(R"(["a", "b"])"), 19)) << "as execve counts them, 20";
  EXPECT_FALSE(read_words(value_of(R"("a")"), 100));
}

TEST(BodyTexts, ALineForPeopleIsCutAndHasNoControls) {
  EXPECT_THAT(read_line(value_of(R"("abc")"), 2), Optional(std::string("ab")));
  EXPECT_THAT(read_lines(value_of(R"(["a\u001b", "b"])"), 10), Optional(ElementsAre(testing::SizeIs(2), "b")));
  std::string many = "[\"a\"";
  for (int i = 0; i < 256; ++i) many += ",\"a\"";
  EXPECT_FALSE(read_lines(value_of(many + "]"), 10)) << "257 of them";
}

}  // namespace launch::body_texts_test
