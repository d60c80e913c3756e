#include "launch/core/verdict/missing_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::missing_ranks_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string waits = "sleeping (S) in futex_wait_queue";
const std::string sleeps = "sleeping (S) in hrtimer_nanosleep";

// Rank 2 of one node timed out.
Verdict timed_out_job(std::vector<RankGroup> states, std::vector<int> waited = {}) {
  Verdict verdict{"train.py", "none", 1, 0, {}, {}, ""};
  verdict.first.rank = GlobalRank(2);
  verdict.first.what = "exit code 1";
  verdict.first.detail = "RuntimeError: Timed out waiting 3000ms for recv operation to complete";
  verdict.account.nodes = {0};
  verdict.account.states = std::move(states);
  verdict.account.waited = std::move(waited);
  return verdict;
}

std::vector<int> missing_in(const Verdict& verdict) {
  const auto missing = missing_ranks(verdict);
  return missing ? missing->ranks : std::vector<int>();
}

TEST(MissingRanks, TheOneThatSaidNothingIsMissing) {
  EXPECT_THAT(missing_in(timed_out_job({{"running (R)", {0, 1}}, {sleeps, {3}}}, {0, 1})), ElementsAre(3));
  EXPECT_THAT(missing_in(timed_out_job({{waits, {0, 1, 3}}}, {0, 1})), ElementsAre(3)) << "whatever it does";
}

TEST(MissingRanks, TheOneThatDoesAnotherThingIsMissing) {
  EXPECT_THAT(missing_in(timed_out_job({{waits, {0, 1}}, {sleeps, {3}}})), ElementsAre(3));
  EXPECT_THAT(missing_in(timed_out_job({{waits, {0, 1, 3, 4, 5}}, {sleeps, {6, 7}}})), ElementsAre(6, 7));
}

TEST(MissingRanks, OfTwoItIsTheOther) { EXPECT_THAT(missing_in(timed_out_job({{waits, {3}}})), ElementsAre(3)); }

TEST(MissingRanks, APlaceInTheProgramSaysMoreThanAState) {
  Verdict verdict = timed_out_job({{waits, {0, 1, 3}}});
  verdict.account.places = {{"in all_reduce (d.py:1)", {0, 1}}, {"in load (t.py:9)", {3}}};
  EXPECT_THAT(missing_in(verdict), ElementsAre(3));
  EXPECT_EQ(missing_ranks(verdict)->doings, (std::vector<RankGroup>{{"in load (t.py:9)", {3}}}));
}

TEST(MissingRanks, WhoHasEndedWellBeforeCannotCome) {
  Verdict verdict = timed_out_job({{waits, {0, 1}}});
  verdict.account.ends = {{"exit code 0, 3 s before the failure", {3}},
                          {"signal 15 (SIGTERM), stopped by launch", {0, 1}}};
  EXPECT_THAT(missing_in(verdict), ElementsAre(3));
}

TEST(MissingRanks, AFlightRecorderKnowsIt) {
  const Verdict verdict = timed_out_job(
      {{"has begun 3 collectives", {3}}, {"running (R)", {0}}, {waits, {1}}, {"has begun 4 collectives", {2}}});
  EXPECT_THAT(missing_in(verdict), ElementsAre(3));
  EXPECT_EQ(missing_ranks(verdict)->doings,
            (std::vector<RankGroup>{{"has begun 3 collectives; others have begun 4", {3}}}));
  EXPECT_THAT(missing_in(timed_out_job({{"has begun 4 collectives", {2, 3}}, {waits, {0}}, {sleeps, {1}}})),
              ElementsAre())
      << "none is behind";
}

TEST(MissingRanks, NobodyIsNamedUnlessItIsClear) {
  EXPECT_THAT(missing_in(timed_out_job({})), ElementsAre());
  EXPECT_THAT(missing_in(timed_out_job({{waits, {0, 1, 3}}})), ElementsAre()) << "all do the same";
  EXPECT_THAT(missing_in(timed_out_job({{waits, {0}}, {sleeps, {3}}})), ElementsAre()) << "one against one";
  EXPECT_THAT(missing_in(timed_out_job({{"running (R)", {0, 1}}}, {0, 1})), ElementsAre()) << "all that lived waited";
  Verdict verdict = timed_out_job({{waits, {0, 1}}, {sleeps, {3}}});
  verdict.nnodes = 2;
  EXPECT_THAT(missing_in(verdict), ElementsAre()) << "a node gave no report";
  verdict = timed_out_job({{waits, {0, 1}}, {sleeps, {3}}});
  verdict.first.detail = "RuntimeError: CUDA out of memory";
  EXPECT_THAT(missing_in(verdict), ElementsAre()) << "no time-out";
}

// Rank 2 found its connection closed.
Verdict job_with_a_closed_connection(std::vector<RankGroup> ends, std::vector<int> waited = {}) {
  Verdict verdict = timed_out_job({{waits, {0, 1}}, {sleeps, {3}}}, std::move(waited));
  verdict.first.detail = "RuntimeError: gloo: Connection closed by peer [10.0.0.7]:5868";
  verdict.account.ends = std::move(ends);
  return verdict;
}

TEST(MissingRanks, WhoEndedByItselfClosedTheConnection) {
  const RankGroup stopped{"signal 15 (SIGTERM), stopped by launch", {0}};
  const RankGroup early{"exit code 0, 3 s before the failure", {3}};
  EXPECT_THAT(missing_in(job_with_a_closed_connection({stopped, early})), ElementsAre(3));
  EXPECT_THAT(missing_in(job_with_a_closed_connection({stopped, {"exit code 1", {1, 3}}}, {1})), ElementsAre(3));
  EXPECT_THAT(missing_in(job_with_a_closed_connection({{stopped.what, {0, 1}}, {"exit code 0", {3}}})), ElementsAre(3));
  EXPECT_THAT(missing_in(job_with_a_closed_connection({{"exit code 0", {0, 1, 3}}})), ElementsAre()) << "when told to";
  EXPECT_FALSE(missing_ranks(job_with_a_closed_connection({stopped})));
  const std::string text = render_verdict(job_with_a_closed_connection({stopped, early}));
  EXPECT_THAT(text, HasSubstr("train.py FAILED (run id none): rank 3 has ended; rank 2 lost its connection\n"
                              "  ended          rank 3: exit code 0, 3 s before the failure\n"
                              "  lost its peer  rank 2 (local rank -1) on node 0"));
}

// All three waited; the one that timed out first closed the connections of the others, and one of those ended first.
TEST(MissingRanks, WhoTimedOutIsNoMoreTheCauseThanWhoLostItsConnection) {
  Verdict verdict =
      job_with_a_closed_connection({{"exit code 1", {0, 1}}, {"signal 15 (SIGTERM), stopped by launch", {3}}}, {0, 1});
  EXPECT_FALSE(missing_ranks(verdict)) << "nobody timed out: it may be the network";
  verdict.account.timed_out = {1};
  EXPECT_THAT(render_verdict(verdict),
              HasSubstr("train.py FAILED (run id none): rank 3 did not come; rank 1 timed out waiting\n"
                        "  did not come   rank 3: alive, sleeping (S) in hrtimer_nanosleep\n"
                        "  lost its peer  rank 2 (local rank -1) on node 0"));
  verdict.account.ends.push_back({"exit code 1", {4}});
  EXPECT_THAT(missing_in(verdict), ElementsAre(4)) << "it ended by itself";
}

TEST(MissingRanks, ThoseThatMayBeMissingAreShownIfItIsNotClear) {
  const std::string text = render_verdict(timed_out_job({{waits, {0}}, {sleeps, {3}}}));
  EXPECT_THAT(text, HasSubstr("train.py FAILED (run id none)\n"
                              "  may be missing rank 0: alive, sleeping (S) in futex_wait_queue\n"
                              "                 rank 3: alive, sleeping (S) in hrtimer_nanosleep\n"
                              "  timed out      rank 2"));
}

TEST(MissingRanks, TheTitleNamesThemAndTheRankThatWaited) {
  const std::string text = render_verdict(timed_out_job({{"running (R)", {0, 1}}, {sleeps, {3}}}, {0, 1}));
  EXPECT_THAT(text, HasSubstr("train.py FAILED (run id none): rank 3 did not come; rank 2 timed out waiting\n"
                              "  did not come   rank 3: alive, sleeping (S) in hrtimer_nanosleep\n"
                              "  timed out      rank 2 (local rank -1) on node 0"));
  EXPECT_THAT(text, Not(HasSubstr("root cause")));
}

TEST(MissingRanks, AreShownWithTheirNodesIfThereAreSeveral) {
  Verdict verdict = timed_out_job({{"running (R)", {0, 1}}, {sleeps, {3}}}, {0, 1});
  verdict.account.hosts = {{NodeRank(0), "n0", {0, 1}}, {NodeRank(1), "n1", {3}}};
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  did not come   rank 3: alive, sleeping (S)")) << "a single node";
  verdict.nnodes = 2;
  verdict.account.nodes = {0, 1};
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  did not come   rank 3 on node 1 (host n1): alive, sleeping (S)"));
  verdict.account.states = {{waits, {0, 1, 3}}};
  verdict.account.waited = {};
  EXPECT_THAT(render_verdict(verdict),
              HasSubstr("\n  may be missing ranks 0-1, 3 on nodes 0, 1 (hosts n0, n1): alive, sleeping (S)"));
}

TEST(MissingRanks, AreShownWithoutNodesIfNotAllAreKnown) {
  Verdict verdict = timed_out_job({{waits, {0, 1, 3}}});
  verdict.nnodes = 2;
  verdict.account.nodes = {0, 1};
  verdict.account.hosts = {{NodeRank(1), "n1", {3}}};
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  may be missing ranks 0-1, 3: alive"));
}

}  // namespace launch::missing_ranks_test
