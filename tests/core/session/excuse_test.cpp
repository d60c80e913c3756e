#include "launch/core/session/excuse.hpp"

#include "talker.hpp"

#include <gtest/gtest.h>

namespace launch::excuse_test {

using namespace std::chrono_literals;

struct Place : play::TwoTalkers {
  Talk<void> tell() {
    auto pause = first.stage().until(later(first.stage().moment(), 1s));
    co_await pause;
    told_others = true;
  }
  void excuse_after(Duration time) {
    events.in(time, [this] {
      first.begin();
      excused = excuse.excuse();
      first.stage().run();
      first.act();
    });
  }

  Excuse excuse{first.stage()};
  bool told_others = false;
  bool excused = false;
};

TEST(Excuse, AFailureIsToldUnlessTheHostHasEndedBefore) {
  Place place;
  place.excuse_after(2s);
  EXPECT_EQ(place.first.run(place.excuse.unless_excused(place.tell())), true);
  EXPECT_TRUE(place.told_others);
  place.events.run_until(later(place.events.now(), 3s));
  EXPECT_FALSE(place.excused) << "it has been told";
}

TEST(Excuse, NobodyHearsOfOneThatIsExcused) {
  Place place;
  place.excuse_after(500ms);
  const Time start = place.events.now();
  EXPECT_EQ(place.first.run(place.excuse.unless_excused(place.tell())), false);
  EXPECT_EQ(place.events.now() - start, 500ms);
  EXPECT_TRUE(place.excused);
  place.events.run_until(later(place.events.now(), 3s));
  EXPECT_FALSE(place.told_others);
}

TEST(Excuse, TheNextFailureIsAnotherOne) {
  Place place;
  place.excuse_after(500ms);
  EXPECT_EQ(place.first.run(place.excuse.unless_excused(place.tell())), false);
  EXPECT_EQ(place.first.run(place.excuse.unless_excused(place.tell())), true);
}

}  // namespace launch::excuse_test
