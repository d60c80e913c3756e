#include "launch/core/base/json_reader.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace launch::json_reader_test {

using Texts = std::vector<std::string>;

constexpr int least_int = std::numeric_limits<int>::min();
constexpr int greatest_int = std::numeric_limits<int>::max();

// So many lists in each other.
std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonReader, GivesEachMemberByItsKind) {
  const JsonValue json = read_json(R"({"t":"a\n","n":-3,"f":0.5,"b":true,"l":["x","y"],"o":{"i":1},"z":null})");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["t"].text(), "a\n");
  EXPECT_EQ(json["n"].whole(-3, 0), -3);
  EXPECT_EQ(json["f"].number(), 0.5);
  EXPECT_EQ(json["n"].number(), -3.0);
  EXPECT_EQ(json["b"].flag(), true);
  EXPECT_EQ(json["l"].texts(), (Texts{"x", "y"}));
  EXPECT_EQ(json["l"].list()->at(1).text(), "y");
  EXPECT_EQ(json["o"]["i"].whole(0, 1), 1);
  EXPECT_TRUE(json["z"].present());
  const auto members = json["o"].members();
  ASSERT_EQ(members->size(), 1U);
  EXPECT_EQ(members->at(0).first, "i");
  EXPECT_EQ(members->at(0).second.whole(0, 1), 1);
}

TEST(JsonReader, WhatIsOfAnotherKindOrAbsentIsNothing) {
  for (const char* text : {R"({"x":null})", R"({"x":[1]})", R"({"x":{"y":1}})", R"({"x":"1"})", R"({"x":true})",
                           R"({"x":1.0})", R"({"y":1})", "[1]", "1", "", "{"}) {
    const JsonValue x = read_json(text)["x"];
    EXPECT_FALSE(x.whole(least_int, greatest_int)) << text;
    EXPECT_FALSE(x["z"].present()) << text;
    const int kinds =
        (x.text() ? 1 : 0) + (x.number() ? 1 : 0) + (x.flag() ? 1 : 0) + (x.list() ? 1 : 0) + (x.members() ? 1 : 0);
    EXPECT_LE(kinds, x.present() ? 1 : 0) << text;
    EXPECT_FALSE(x.texts()) << text;
  }
}

TEST(JsonReader, ANumberIsWithinItsBoundsOrNone) {
  const auto whole = [](const char* text) { return read_json(text).whole(0, 10); };
  EXPECT_EQ(whole("0"), 0);
  EXPECT_EQ(whole("10"), 10);
  for (const char* text : {"-1", "11", "4294967296", "18446744073709551615", "9223372036854775808", "1e1", "1.5"})
    EXPECT_FALSE(whole(text)) << text;
  EXPECT_FALSE(read_json("18446744073709551615").whole(least_int, greatest_int)) << "which is no -1";
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(read_json("9223372036854775807").whole64(0, most), most);
  EXPECT_FALSE(read_json("9223372036854775808").whole64(std::numeric_limits<std::int64_t>::min(), most));
  EXPECT_FALSE(read_json("1e999").number()) << "which is infinite";
}

TEST(JsonReader, ACountIsCutToTheMost) {
  EXPECT_EQ(read_json("9").count(10), 9);
  for (const char* text : {"10", "11", "18446744073709551615"}) EXPECT_EQ(read_json(text).count(10), 10) << text;
  for (const char* text : {"-1", "1.0", "\"1\"", ""}) EXPECT_FALSE(read_json(text).count(10)) << text;
}

TEST(JsonReader, ATextIsOfBoundedLengthOrNone) {
  const JsonValue text = read_json(R"("abc")");
  EXPECT_EQ(text.text(3), "abc");
  EXPECT_FALSE(text.text(2));
}

TEST(JsonReader, AListHoldsNothingButTextsOrIsNoneOfTexts) {
  EXPECT_EQ(read_json("[]").texts(), Texts());
  EXPECT_FALSE(read_json(R"(["a",1])").texts());
  EXPECT_FALSE(read_json(R"({"a":"b"})").texts());
}

TEST(JsonReader, WhatIsTooLongOrTooDeepIsAbsent) {
  EXPECT_TRUE(read_json("[1]  ", {.size = 5}).present());
  EXPECT_FALSE(read_json("[1]  ", {.size = 4}).present());
  for (const std::size_t depth : {1, 2, 16}) {
    EXPECT_TRUE(read_json(nested(depth), {.depth = depth}).present()) << depth;
    EXPECT_FALSE(read_json(nested(depth), {.depth = depth - 1}).present()) << depth;
    EXPECT_TRUE(is_json(nested(depth), {.depth = depth})) << depth;
    EXPECT_FALSE(is_json(nested(depth), {.depth = depth - 1})) << depth;
  }
  EXPECT_TRUE(read_json("[[],[],{}]", {.depth = 2}).present()) << "beside each other";
  EXPECT_TRUE(read_json(R"(["[[\"[[{\\"])", {.depth = 1}).present()) << "in a text";
  EXPECT_FALSE(read_json(R"(["\\",[]])", {.depth = 1}).present()) << "behind a text";
  EXPECT_FALSE(read_json(std::string(60'000, '[')).present());
}

TEST(JsonReader, WhatIsNoJsonIsAbsent) {
  for (const char* text :
       {"", " ", "{", "]", "}{", "[1,]", "{\"a\":}", "nul", "1 2", "\"\xff\"", "\"", "\"\\", "'a'"}) {
    EXPECT_FALSE(read_json(text).present()) << text;
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonReader, AValueKeepsItsDocument) {
  JsonValue inner;
  {
    const JsonValue whole = read_json(R"({"a":{"b":"c"}})");
    inner = whole["a"];
  }
  EXPECT_EQ(inner["b"].text(), "c");
}

TEST(JsonReader, WhatIsNeededIsMissedOnce) {
  const JsonValue json = read_json(R"({"a":"x","n":2})");
  Needed need;
  EXPECT_EQ(need(json["a"].text()), "x");
  EXPECT_EQ(need(json["n"].whole(0, 2)), 2);
  EXPECT_TRUE(need.met());
  EXPECT_EQ(need(json["n"].whole(0, 1)), 0);
  EXPECT_FALSE(need.met());
  EXPECT_EQ(need(json["a"].text()), "x");
  EXPECT_FALSE(need.met());
}

}  // namespace launch::json_reader_test
