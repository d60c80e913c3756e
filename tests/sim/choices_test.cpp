#include "choices.hpp"

#include <gtest/gtest.h>

namespace launch::choices_test {

using namespace sim;
using namespace std::chrono_literals;

struct Story {
  std::vector<bool> odds;
  std::vector<std::size_t> numbers;
  Duration longest{};
  bool operator==(const Story&) const = default;
};

// As a job draws them: what comes later depends on what came before.
Story tell(Choices& choices) {
  Story story;
  const std::size_t events = choices.below(20);
  for (std::size_t i = 0; i < events; ++i) {
    story.odds.push_back(choices.odds(0.5));
    if (!story.odds.back()) continue;
    story.numbers.push_back(choices.below(100));
    story.longest = std::max(story.longest, choices.between(1s, 9s));
  }
  return story;
}

TEST(Choices, WhatWasMadeCanBePlayedAgain) {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    Choices by_chance(seed);
    const Story first = tell(by_chance);
    Choices again(by_chance.made());
    EXPECT_EQ(tell(again), first);
    EXPECT_EQ(again.made(), by_chance.made());
  }
}

TEST(Choices, AListThatIsTooShortOrTooLargeHasTheLeast) {
  Choices none{Choices::List()};
  EXPECT_FALSE(none.odds(0.99));
  EXPECT_EQ(none.below(7), 0U);
  EXPECT_EQ(none.between(1s, 2s), 1s);
  Choices large(Choices::List{99, 99});
  EXPECT_TRUE(large.odds(0.01));
  EXPECT_EQ(large.below(7), 6U);
}

TEST(Choices, OfAFailureOnlyWhatItNeedsIsLeft) {
  const auto fails = [](Choices::List list) {
    Choices choices(std::move(list));
    return tell(choices).longest >= 6s;
  };
  Choices::List failing;
  for (std::uint64_t seed = 1; failing.empty(); ++seed) {
    Choices choices(seed);
    if (tell(choices).longest >= 6s && choices.made().size() > 20) failing = choices.made();
  }
  // One event, of the kind that matters, about the first thing, for just that long.
  EXPECT_EQ(shorten(failing, fails, 10'000),
            (Choices::List{1, 1, 0, static_cast<std::uint64_t>(Duration(5s).count())}));
}

TEST(Choices, NoMoreIsTriedThanAllowed) {
  int tries = 0;
  const auto fails = [&tries](const Choices::List& /*list*/) { return ++tries < 0; };
  shorten(Choices::List(1000, 5), fails, 17);
  EXPECT_EQ(tries, 17);
}

}  // namespace launch::choices_test
