#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/c10d/elastic_rendezvous.hpp"
#include "launch/core/c10d/hosted_rendezvous.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace launch::elastic_machine_test {

// Over a store that torchrun hosts, and over one that launch does.
std::unique_ptr<ElasticMachine> make_machine(bool by_launch) {
  if (by_launch) return std::make_unique<HostedRendezvous>(ElasticSettings{});
  return std::make_unique<ElasticRendezvous>(ElasticSettings{}, Random(1));
}

TEST(ElasticMachine, WhoeverHostsTheStoreItIsAskedForSomethingAtOnceAndEndsInTime) {
  for (const bool by_launch : {false, true}) {
    const auto machine = make_machine(by_launch);
    const Instant now{Time(std::chrono::hours(1)), {}};
    machine->join(now.time, 0);
    const ElasticStep step = machine->start(now);
    EXPECT_FALSE(std::holds_alternative<AwaitKeys>(step.next)) << by_launch;
    EXPECT_GT(machine->deadline(), now.time);
    EXPECT_NE(machine->deadline(), never);
  }
}

TEST(LostWrites, WaitFromTheSecondInARowOnAndOnlyOnce) {
  LostWrites lost{Random(1)};
  lost.note(true);
  EXPECT_EQ(lost.pause(), std::nullopt);
  lost.note(true);
  const auto wait = lost.pause();
  ASSERT_NE(wait, std::nullopt);
  EXPECT_GT(*wait, Duration::zero());
  EXPECT_LE(*wait, std::chrono::milliseconds(4));
  EXPECT_EQ(lost.pause(), std::nullopt) << "the write after a wait is not put off again";
  lost.note(true);
  EXPECT_NE(lost.pause(), std::nullopt);
  lost.note(false);
  lost.note(true);
  EXPECT_EQ(lost.pause(), std::nullopt);
}

}  // namespace launch::elastic_machine_test
