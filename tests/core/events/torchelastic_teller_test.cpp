#include "launch/core/events/torchelastic_teller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::torchelastic_teller_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Round round_of_two(int restarts) {
  Round round;
  round.assignment = {NodeRank(1), 2, GlobalRank(2), 4, 2, 4};
  round.restarts = restarts;
  return round;
}

// Two workers of node 1, as ranks 2 and 3.
TorchelasticTeller started() {
  TorchelasticTeller teller({"job", "default", "n1", "static", "sh"});
  (void)teller.formed(round_of_two(0), 5ms);
  teller.worker_started(100);
  teller.worker_started(101);
  return teller;
}

constexpr ExitStatus good{ExitStatus::Kind::exited, 0};

auto is(const char* state) { return HasSubstr(std::string("worker.status.") + state + "\""); }

TEST(TorchelasticTeller, ARoundIsToldWithTheRanksOfTheOneBefore) {
  TorchelasticTeller teller({"job", "default", "n1", "static", "sh"});
  const auto first = teller.formed(round_of_two(0), 5ms);
  ASSERT_THAT(first, ElementsAre(is("RENDEZVOUS"), is("ASSIGN_WORKER_RANKS")));
  EXPECT_THAT(first[0], HasSubstr(R"("group_rank": null)"));
  EXPECT_THAT(first[0], HasSubstr(R"("duration_ms": 5.0)"));
  const auto second = teller.formed(round_of_two(1), 5ms);
  EXPECT_THAT(second[0], HasSubstr(R"("group_rank": 1)"));
  EXPECT_THAT(second[0], HasSubstr(R"("agent_restarts": 1)"));
}

TEST(TorchelasticTeller, EachWorkerStartsAndEnds) {
  TorchelasticTeller teller = started();
  const auto lines = teller.all_started();
  ASSERT_THAT(lines, ElementsAre(is("START"), is("START")));
  EXPECT_THAT(lines[1], HasSubstr(R"("global_rank": 3)"));
  EXPECT_THAT(lines[1], HasSubstr(R"("worker_id": "101")"));
  for (const int rank : {0, 1}) teller.worker_exited(LocalRank(rank), good, "");
  EXPECT_THAT(teller.ended(std::nullopt, 7), ElementsAre(is("SUCCEEDED"), is("SUCCEEDED"), is("SUCCEEDED")));
}

TEST(TorchelasticTeller, AWorkersFailureIsASuccessOfTheAgentThatHasSeenIt) {
  TorchelasticTeller teller = started();
  teller.worker_exited(LocalRank(1), {ExitStatus::Kind::signalled, 9}, "");
  Failure first;
  first.kind = Failure::Kind::worker;
  const auto lines = teller.ended(first, 7);
  ASSERT_THAT(lines, ElementsAre(is("TERMINATED"), is("FAILED"), is("SUCCEEDED")));
  EXPECT_THAT(lines[1], HasSubstr(R"(\"exit_code\": [-9])"));
}

TEST(TorchelasticTeller, AnyOtherFailureIsTheAgentsOwn) {
  Failure first;
  first.kind = Failure::Kind::store;
  first.what = "the store has gone";
  EXPECT_THAT(started().ended(first, 7), ElementsAre(testing::AllOf(is("FAILED"), HasSubstr("the store has gone"))));
}

// Before any round, nobody knows of workers.
TEST(TorchelasticTeller, AFailureBeforeTheFirstRoundHasNoWorkers) {
  Failure first;
  first.kind = Failure::Kind::worker;
  const TorchelasticTeller teller({"job", "default", "n1", "static", "sh"});
  EXPECT_THAT(teller.ended(first, 0), ElementsAre(is("FAILED")));
}

}  // namespace launch::torchelastic_teller_test
