#include "launch/core/cluster/cluster_start.hpp"

#include "../../support/slurm.hpp"
#include "../../support/starts.hpp"

#include "launch/core/options/option_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::cluster_start_test {

using testing::ElementsAre;
using testing::HasSubstr;

Environment with(Environment env, const Environment& more) {
  for (const std::string& line : more.lines()) env.set(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  return env;
}

TEST(ClusterStart, NothingIsFoundWithoutVariables) {
  const Environment env{{"PATH", "/bin"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"PMI_RANK", "0"}};
  EXPECT_FALSE(may_be_in_cluster(env));
  const auto none = view_cluster(env, {});
  EXPECT_FALSE(none->start);
  EXPECT_TRUE(none->found.empty());
}

TEST(ClusterStart, AStepIsSaidInOneLine) {
  EXPECT_TRUE(may_be_in_cluster(slurm::step()));
  const auto view = view_cluster(slurm::step(), slurm::task());
  ASSERT_TRUE(view && view->start);
  EXPECT_THAT(view->found, ElementsAre("Slurm step 3.0: 2 nodes, this is node 1"));
}

// mpirun's daemons are a step of their own, whose numbers are not those of the ranks.
TEST(ClusterStart, TheInnermostStarterCounts) {
  const auto view = view_cluster(starts::open_mpi(), starts::below_mpi("n3"));
  ASSERT_TRUE(view && view->start);
  EXPECT_EQ(view->start->starter, "Open MPI");
  EXPECT_EQ(view->start->node_rank.value, NodeRank(2));
  EXPECT_THAT(view->found, ElementsAre(HasSubstr("Open MPI prterun-n1-10563@1: 3 nodes, this is node 2"),
                                       "variables of slurm, which are not asked: Open MPI is nearer"));
  const auto pods = view_cluster(with(slurm::step(), starts::indexed_job()), slurm::task());
  EXPECT_EQ(pods->start->starter, "Slurm step");
}

TEST(ClusterStart, AStarterThatIsGoneLeavesTheWordToTheNext) {
  ProcessFacts facts = slurm::task();  // srun, in a shell that mpirun started once
  Environment env = with(starts::open_mpi(), slurm::step());
  const auto view = view_cluster(env, facts);
  ASSERT_TRUE(view && view->start);
  EXPECT_EQ(view->start->starter, "Slurm step");
}

TEST(ClusterStart, AStarterThatIsGoneHidesNoOtherOfItsKind) {
  ProcessFacts facts = starts::below_mpi("n3");
  facts.pmix_folder = false;
  const auto view = view_cluster(with(starts::open_mpi(), starts::flux()), facts);
  ASSERT_TRUE(view && view->start);
  EXPECT_EQ(view->start->starter, "Flux");
  EXPECT_TRUE(view_cluster(with(starts::open_mpi(), starts::flux()), starts::below_mpi("n3"), "flux")->start);
}

TEST(ClusterStart, AWorkersOwnLaunchIsNotWhatWasStarted) {
  for (const Environment& env : {slurm::step(), starts::open_mpi(), starts::skypilot()}) {
    const auto view = view_cluster(with(env, {{"TORCHELASTIC_RUN_ID", "3.0"}, {"LOCAL_RANK", "1"}}), slurm::task());
    ASSERT_TRUE(view);
    EXPECT_FALSE(view->start);
    EXPECT_THAT(view->found, ElementsAre(HasSubstr("a worker of another launch started this one")));
  }
}

TEST(ClusterStart, OneStarterMayBeChosen) {
  const auto view = view_cluster(with(slurm::step(), starts::open_mpi()), starts::below_mpi("n3"), "slurm");
  ASSERT_TRUE(view);
  EXPECT_THAT(view->found.front(), HasSubstr("variables of openmpi, which --cluster leaves out"));
}

TEST(ClusterStart, TheOptionTakesEachWordOnce) {
  std::vector<std::string_view> words = cluster_words();
  words.insert(words.end(), {"auto", "none"});
  const Choices& choices = row_of(&Options::cluster).choices;
  EXPECT_THAT(words, testing::UnorderedElementsAreArray(choices.begin(), choices.end()));
}

}  // namespace launch::cluster_start_test
