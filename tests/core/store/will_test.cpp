#include "launch/core/store/will.hpp"

#include <gtest/gtest.h>

namespace launch::will_test {

Will whole() {
  return {{{"/job/launch/abort", "it \"ended\"\n", "it is silent \x01"}, {"/job/next", "a", "b", "/job/over"}},
          {"/job/ended/3"},
          Will::Claim{"/job/node/3", "host n3 (pid 5)", "/job/begun", {"/job/role_info/3"}}};
}

// Kind, key and texts of each.
std::vector<std::string> texts_of(const std::vector<Request>& deeds) {
  std::vector<std::string> texts;
  for (const Request& deed : deeds) {
    if (const auto* set = std::get_if<CompareSetRequest>(&deed))
      texts.push_back(std::string(set->key) + "=" + std::string(set->desired) + std::string(set->expected));
    if (const auto* gone = std::get_if<DeleteKeyRequest>(&deed)) texts.push_back("-" + std::string(gone->key));
  }
  EXPECT_EQ(texts.size(), deeds.size());
  return texts;
}

TEST(Will, IsReadBackAsItWasWritten) {
  Will without_claim = whole();
  without_claim.claim.reset();
  for (const Will& will : {whole(), without_claim, Will{}}) {
    const auto read = parse_will(to_json(will));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, will);
  }
  EXPECT_EQ(to_json(Will{}), "");
}

TEST(Will, OlderVersionsLeaveOutWhatTheyDoNotKnow) {
  const auto read = parse_will(R"({"words":[{"key":"a","closed":"b","silent":"c"}],"gone":[]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->words.at(0).unless, "");
}

TEST(Will, WhatIsNoneIsRefused) {
  const std::string good = to_json(whole());
  for (std::size_t length = 1; length < good.size(); ++length) EXPECT_FALSE(parse_will(good.substr(0, length)));
  for (const char* text :
       {"{}", "[]", "1", "null", R"({"words":[1],"gone":[]})", R"({"words":{},"gone":[]})",
        R"({"words":[{"key":"a","closed":"b"}],"gone":[]})",

        R"({"words":[{"key":"a","closed":"b","silent":"c","unless":1}],"gone":[]})", R"({"words":[],"gone":["a",2]})",
        R"({"words":[],"gone":[],"claim":"a"})", R"({"words":[],"gone":[],"claim":{"key":"a"}})"})
    EXPECT_FALSE(parse_will(text)) << text;
  Will large = whole();
  large.gone.emplace_back(70'000, 'x');
  EXPECT_FALSE(parse_will(to_json(large)));
}

TEST(Will, TellsWhatTheConnectionDiedOf) {
  const Will will = whole();
  EXPECT_EQ(texts_of(deeds_of(will, false, "host n3 (pid 5)", true)),
            (std::vector<std::string>{"/job/launch/abort=it \"ended\"\n", "/job/next=a", "/job/ended/3=gone"}));
  EXPECT_EQ(texts_of(deeds_of(will, true, "host n3 (pid 5)", true)).at(1), "/job/next=b");
}

TEST(Will, UndoesTheClaimUntilTheJobHasBegun) {
  Will will = whole();
  EXPECT_EQ(texts_of(deeds_of(will, true, "host n3 (pid 5)", false)),
            (std::vector<std::string>{"-/job/role_info/3", "-/job/node/3"}));
  will.claim->begun.clear();  // as if it had
  EXPECT_EQ(deeds_of(will, true, "host n3 (pid 5)", false).size(), 3U);
}

TEST(Will, IsVoidIfAnotherHasClaimed) {
  const Will will = whole();
  for (const char* holder : {"", "host n4 (pid 5)"})
    for (const bool begun : {false, true}) EXPECT_TRUE(deeds_of(will, false, holder, begun).empty());
}

TEST(Will, IsOfTheAgentThatHasClaimed) {
  Will newer = whole(), stranger = whole(), without = whole();
  newer.words.clear();
  stranger.claim->holder = "host n4 (pid 5)";
  without.claim.reset();
  EXPECT_EQ(claimant_of(newer), claimant_of(whole()));
  EXPECT_NE(claimant_of(stranger), claimant_of(whole()));
  EXPECT_EQ(claimant_of(without), "");
}

}  // namespace launch::will_test
