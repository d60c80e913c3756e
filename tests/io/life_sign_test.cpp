#include "launch/io/life_sign.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::life_sign_test {

using namespace std::chrono_literals;

// What `agent` does in a process of its own.
void in_another_process(void (*agent)(LifeSign&), LifeSign& life) {
  const pid_t child = ::fork();
  if (child == 0) {
    agent(life);
    std::_Exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

TEST(LifeSign, IsEmptyAtFirst) {
  LifeSign& life = *LifeSign::make();
  EXPECT_EQ(life.read().patience, Duration::zero());
  EXPECT_FALSE(life.end().has_value());
  EXPECT_EQ(life.take_stall(), Duration::zero());
}

TEST(LifeSign, TheGuardReadsWhatTheAgentShows) {
  LifeSign& life = *LifeSign::make();
  EXPECT_EQ(life.hand_on(), 1U);
  EXPECT_EQ(life.hand_on(), 2U);
  in_another_process(
      [](LifeSign& shared) {
        shared.turn(Time(5s), 3s);
        shared.hear();
        shared.say_end(7);
      },
      life);
  EXPECT_EQ(life.read().turned, Time(5s));
  EXPECT_EQ(life.read().patience, 3s);
  EXPECT_EQ(life.read().heard, 2U);
  EXPECT_EQ(life.end(), 7);
}

TEST(LifeSign, TheAgentReadsOnceOfItsStall) {
  LifeSign& life = *LifeSign::make();
  EXPECT_FALSE(life.has_stalled());
  in_another_process([](LifeSign& shared) { shared.tell_stall(4s); }, life);
  EXPECT_EQ(life.take_stall(), 4s);
  EXPECT_EQ(life.take_stall(), Duration::zero()) << "told once";
  EXPECT_TRUE(life.has_stalled()) << "from then on";
}

}  // namespace launch::life_sign_test
