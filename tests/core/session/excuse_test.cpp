#include "launch/core/session/excuse.hpp"

#include "talker.hpp"

#include <gtest/gtest.h>

namespace launch::excuse_test {

using namespace std::chrono_literals;

// It takes a second to tell the others.
struct Place : play::TwoTalkers {
  Talk<void> tell() {
    auto pause = first.stage().until(later(first.stage().moment(), 1s));
    co_await pause;
    told_others = true;
  }
  Talk<bool> fail() {
    co_await excuse.unless_excused(tell());
    co_return true;
  }
  void excuse_after(Duration time) {
    events.in(time, [this] {
      first.begin();
      excuse.excuse();
      first.stage().run();
      first.act();
    });
  }

  Excuse excuse{first.stage()};
  bool told_others = false;
};

TEST(Excuse, AFailureIsToldUnlessTheHostHasEndedBefore) {
  Place place;
  place.excuse_after(2s);
  EXPECT_TRUE(place.first.run(place.fail()));
  EXPECT_TRUE(place.told_others);
  place.events.run_until(later(place.events.now(), 3s));
}

TEST(Excuse, NobodyHearsOfOneThatIsExcused) {
  Place place;
  place.excuse_after(500ms);
  const Time start = place.events.now();
  EXPECT_TRUE(place.first.run(place.fail()));
  EXPECT_EQ(place.events.now() - start, 500ms);
  place.events.run_until(later(place.events.now(), 3s));
  EXPECT_FALSE(place.told_others);
}

TEST(Excuse, TheNextFailureIsAnotherOne) {
  Place place;
  place.excuse_after(500ms);
  EXPECT_TRUE(place.first.run(place.fail()));
  EXPECT_TRUE(place.first.run(place.fail()));
  EXPECT_TRUE(place.told_others);
}

}  // namespace launch::excuse_test
