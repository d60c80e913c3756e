#include "launch/core/progress/progress_pattern.hpp"

#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::progress_pattern_test {
namespace {

using testing::HasSubstr;
using Found = ProgressPattern::Found;

std::optional<Found> find(const std::string& pattern, std::string_view line) {
  const auto compiled = ProgressPattern::compile(pattern);
  if (!compiled) ADD_FAILURE() << compiled.error().message;
  return compiled ? compiled->find(line) : std::nullopt;
}

TEST(ProgressPattern, TheFirstGroupIsTheStep) {
  const struct {
    const char* pattern;
    const char* line;
    std::optional<double> step;
  } cases[] = {
      {"step ([0-9]+)", "at step 12, loss 3", 12},      {"step ([0-9]+)", "Step 12", std::nullopt},
      {"step=([0-9,_]+)", "step=1,200_000", 1'200'000}, {R"(epoch (\d+\.\d+))", "epoch 0.25", 0.25},
      {"(?:it|step) ([0-9]+)/([0-9]+)", "it 7/9", 7},   {"(a+)", "aaa", std::nullopt},
      {"(?:step ([0-9]+)|end)", "end", std::nullopt},   {"([0-9.]+)", "1.2.3", std::nullopt},
  };
  for (const auto& one : cases) {
    const auto found = find(one.pattern, one.line);
    EXPECT_EQ(one.step, found ? std::optional(found->step) : std::nullopt) << one.pattern << " in " << one.line;
  }
}

// The lines are those that the programs write.
TEST(ProgressPattern, KnowsTheLinesOfPrograms) {
  const struct {
    const char* name;
    const char* line;
    std::optional<Found> found;
  } cases[] = {
      {"tqdm", "  5%|▌         | 50/1000 [00:05<01:35,  9.93it/s]", Found{50, 0}},
      {"tqdm", "  0%|          | 0/1000 [00:00<?, ?it/s]", Found{0, 0}},
      {"tqdm", " 24%|██▍       | 12.0k/50.0k [00:00<00:00, 729kit/s]", Found{12'000, 0}},
      {"tqdm", "Epoch 3:  40%|████      | 2/5 [00:00<00:00, 19.36batch/s, loss=1.2]", Found{2, 0}},
      {"tqdm", "reading: 32it [00:00, 302.39it/s]", Found{32, 1}},
      {"tqdm", "loss 3/4 [x]", std::nullopt},
      {"lightning", "Epoch 0:  12%|█▏ | 12/100 [00:01<00:10,  8.00it/s, v_num=0]", Found{12, 0}},
      {"lightning", "Epoch 1: 100%|██████████| 1000/1000 [00:10<00:00, 99.1it/s, v_num=0]", Found{1000, 0}},
      {"lightning", "Validation DataLoader 0:  20%|██  | 2/10 [00:00<00:00, 99.1it/s]", std::nullopt},
      {"hf", " 10%|█         | 50/500 [00:10<01:30,  5.00it/s]", Found{50, 0}},
      {"hf", "{'loss': 1.2, 'learning_rate': 5e-05, 'epoch': 0.5}", Found{0.5, 1}},
      {"hf", "{'eval_loss': 1.1, 'eval_runtime': 3.2, 'epoch': 1.0}", Found{1, 1}},
      {"megatron",
       " iteration      100/  500000 | consumed samples:        25600 | elapsed time per iteration (ms): 412.3 |",
       Found{100, 0}},
      {"megatron", " [2026-11-27 06:00:00] iteration      100/  500000 | consumed samples:        25600 |",
       Found{100, 0}},
      {"nanogpt", "iter 100: loss 2.5, time 85.12ms, mfu 10.00%", Found{100, 0}},
      {"nanogpt", "step 250: train loss 2.0, val loss 2.1", std::nullopt},
  };
  for (const auto& one : cases) EXPECT_EQ(one.found, find(one.name, one.line)) << one.name << " in " << one.line;
}

TEST(ProgressPattern, RefusesWhatIsNoUsablePattern) {
  const std::pair<const char*, const char*> cases[] = {{"step", "no group"},
                                                       {"(?:step)", "no group"},
                                                       {"(step", "no regular expression"},
                                                       {"[0-9", "no regular expression"},
                                                       {"*", "no regular expression"},
                                                       {"TQDM", "no group"}};
  for (const auto& [pattern, why] : cases) {
    const auto compiled = ProgressPattern::compile(pattern);
    ASSERT_FALSE(compiled) << pattern;
    EXPECT_EQ(ErrorCode::usage, compiled.error().code);
    EXPECT_THAT(compiled.error().message, HasSubstr(why));
    EXPECT_THAT(compiled.error().message, HasSubstr("expected a regular expression whose first group is the step"));
  }
}

// With a matcher that tries all ways, this one would take longer than the world is old.
TEST(ProgressPattern, NoExpressionRunsAway) {
  EXPECT_EQ(std::nullopt, find("((?:a+)+)+b", std::string(std::size_t{1} << 20, 'a')));
  EXPECT_EQ(std::nullopt, find("(?:.*)*(x)", std::string(std::size_t{1} << 20, '\xff')));
}

TEST(ProgressPattern, LooksAtTheBeginningOfALine) {
  EXPECT_EQ((Found{7, 0}), find("([0-9])y$", std::string(ProgressPattern::longest - 2, 'x') + "7y8"));
  EXPECT_EQ(std::nullopt, find("([0-9])y", std::string(ProgressPattern::longest - 1, 'x') + "7y"));
}

TEST(ProgressPattern, ANumberThatIsCutIsNone) {
  const std::string before(ProgressPattern::longest - 6, 'x');
  EXPECT_EQ(std::nullopt, find("x([0-9]+)", before + "1234567"));
  EXPECT_EQ(std::nullopt, find("x([0-9]+)", before + "123456"));
  EXPECT_EQ((Found{12345, 0}), find("x([0-9]+)", before + "12345"));
  EXPECT_EQ((Found{12345, 0}), find("x([0-9]+)", before + "12345,67"));
}

// A text too much would lose steps, so whatever is not sure is not required.
TEST(ProgressPattern, WhatEveryMatchMustHave) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"step ([0-9]+)", {"step "}},
      {"^iter ([0-9]+): loss ", {"iter ", ": loss "}},
      {R"(\| *([0-9]+)/[0-9?]+[kM]? \[)", {"|", "/", " ["}},
      {R"(a\.b([0-9]))", {"a.b"}},
      {"ab+c([0-9])", {"ab", "c"}},
      {"abc*([0-9])", {"ab"}},
      {"abc?d([0-9])", {"ab", "d"}},
      {"abc{0,2}de([0-9])", {"ab", "de"}},
      {"a+?b([0-9])", {"b"}},
      {"ab+*c([0-9])", {"a", "c"}},
      {"ab+??c([0-9])", {"a", "c"}},
      {"ab+{0}c([0-9])", {"a", "c"}},
      {R"(a\.+*b([0-9]))", {"a", "b"}},
      {"ab|([0-9])", {}},
      {"(ab|cd)([0-9])e", {"e"}},
      {"(?:ab([0-9]))*", {}},
      {R"((a\)bc)[)d]e)", {"e"}},
      {R"([\]ab]cd([0-9]))", {"cd"}},
      {R"(it\d+step\s([0-9]))", {"it", "step"}},
      {R"([\c]x]ab([0-9]))", {}},
      {R"(\x41bcd([0-9]))", {}},
      {R"(abc\u0041([0-9]))", {}},
      {"abc[[:digit:]]+([0-9])", {}},
      {"a.bc$", {"a", "bc"}},
      {"(?=abc)([a-z]+)", {}},
      {"([0-9]+)", {}},
  };
  for (const auto& [expression, needed] : cases) EXPECT_EQ(needed, required_texts(expression)) << expression;
}

// As the bare expression, in all lines of five of these letters.
TEST(ProgressPattern, TheRequiredTextsLoseNoStep) {
  const char* patterns[] = {"ab?c([0-9])",      "ab*c([0-9])",    "ab+c([0-9])",         "ab{0,1}c([0-9])",
                            "a(?:b|c)c([0-9])", "a[bc]+c([0-9])", "ac([0-9])|bb([0-9])", R"(a\wc([0-9]))",
                            "(?!ab)bc([0-9])",  "^ab([0-9])",     "ab+*c([0-9])",        "ab+??c([0-9])",
                            "ab+{0}c([0-9])"};
  constexpr std::string_view letters = "abc1";
  for (const char* pattern : patterns) {
    const auto compiled = ProgressPattern::compile(pattern);
#ifndef __GLIBCXX__
    if (!compiled) continue;  // libc++ takes no "+*"
#endif
    ASSERT_TRUE(compiled) << pattern;
    const std::regex bare(pattern);
    for (int number = 0; number < 1024; ++number) {
      std::string line;
      for (int rest = number; line.size() < 5; rest /= 4) line += letters[static_cast<std::size_t>(rest % 4)];
      std::smatch match;
      const bool has_step = std::regex_search(line, match, bare) && match[1].matched;
      ASSERT_EQ(has_step, compiled->find(line).has_value()) << pattern << " in " << line;
    }
  }
}

TEST(ProgressPattern, ReadsNumbers) {
  const std::pair<const char*, std::optional<double>> cases[] = {
      {"12", 12},         {" 12 ", 12},        {"1,200", 1200},      {"1_200", 1200}, {"0.5", 0.5},
      {"3.4k", 3400},     {"2M", 2e6},         {"1.5G", 1.5e9},      {"-3", -3},      {"k", std::nullopt},
      {"", std::nullopt}, {"x", std::nullopt}, {"inf", std::nullopt}};
  for (const auto& [text, number] : cases) EXPECT_EQ(number, parse_step(text)) << text;
}

}  // namespace
}  // namespace launch::progress_pattern_test
