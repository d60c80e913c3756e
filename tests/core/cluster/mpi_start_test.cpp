#include "launch/core/cluster/mpi_start.hpp"

#include "../../support/apinfo.hpp"
#include "../../support/starts.hpp"

#include "launch/core/cluster/pmi_talk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::mpi_start_test {

using testing::ElementsAre;
using testing::HasSubstr;

// The view of the first starter that has left variables.
Result<ClusterView> view_mpi(const Environment& env, const ProcessFacts& facts) {
  for (const std::string_view word : mpi_words())
    if (speaks_of_mpi(word, env)) return launch::view_mpi(word, env, facts);
  return ClusterView{};
}

std::string mpi_word(const Environment& env) {
  for (const std::string_view word : mpi_words())
    if (speaks_of_mpi(word, env)) return std::string(word);
  return "";
}

ClusterStart start_of(const Environment& env, const std::string& hostname) {
  const auto view = view_mpi(env, starts::below_mpi(hostname));
  return view && view->start ? *view->start : ClusterStart{};
}

TEST(MpiStart, OpenMpiWithOneRankOnEachNode) {
  const ClusterStart start = start_of(starts::open_mpi(), "n3.cluster");
  EXPECT_EQ(start.nodes.value, 3);
  EXPECT_EQ(start.node_rank.value, NodeRank(2));
  EXPECT_FALSE(start.place);
  EXPECT_EQ(start.id, "prterun-n1-10563@1");
  EXPECT_EQ(start.host.value, "n1");
  EXPECT_EQ(start.host.from, "SLURM_JOB_NODELIST");
  EXPECT_THAT(start.names, ElementsAre("n1", "n2", "n3"));
  EXPECT_GE(start.port.value, 61000);
}

// mpirun may have been given hosts of its own: then the list of the job says nothing.
TEST(MpiStart, NobodyGuessesWhereRank0Is) {
  EXPECT_EQ(start_of(starts::open_mpi(), "n1").host.value, "");
  Environment fewer = starts::open_mpi();
  fewer.set("SLURM_JOB_NODELIST", "n[1-4]");
  EXPECT_EQ(start_of(fewer, "n3").host.value, "");
  EXPECT_THAT(start_of(fewer, "n3").host_hint, HasSubstr("mpirun -x PET_MASTER_ADDR=HOST"));
}

TEST(MpiStart, SeveralRanksOnANode) {
  Environment env = starts::intel_mpi();
  env.set("PMI_RANK", "3");
  env.set("MPI_LOCALRANKID", "1");
  env.set("MPI_LOCALNRANKS", "2");
  const ClusterStart start = start_of(env, "n2");
  ASSERT_TRUE(start.place);
  EXPECT_EQ(start.nodes.value, 5);
  EXPECT_EQ(start.node_rank.value, NodeRank(3));
  EXPECT_EQ(start.place->local_task, 1);
  EXPECT_EQ(start.place->local_tasks, 2);
  EXPECT_FALSE(start.place->node.known());
  const ClusterStart cray = start_of(starts::pals(), "n2");
  ASSERT_TRUE(cray.place);
  EXPECT_EQ(cray.place->node, NodeRank(1));
  EXPECT_EQ(cray.place->local_task, 1);
}

TEST(MpiStart, PalsHasAFileAboutAllRanks) {
  ProcessFacts facts = starts::below_mpi("n2");
  facts.apinfo = starts::apinfo({"n1", "n2"}, {{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  const Environment few{{"PALS_APID", "5e4a"}, {"PALS_RANKID", "3"}, {"PALS_NODEID", "1"}};  // as old versions
  for (const Environment& env : {starts::pals(), few}) {
    const auto view = view_mpi(env, facts);
    ASSERT_TRUE(view && view->start);
    const ClusterStart& start = *view->start;
    EXPECT_EQ(start.nodes.value, 4);
    EXPECT_EQ(start.host.value, "n1");
    EXPECT_EQ(start.host.from, "PALS_APINFO");
    ASSERT_TRUE(start.place);
    EXPECT_TRUE(start.knows_places);
    EXPECT_EQ(start.place->local_task, 1);
    EXPECT_EQ(start.place->node, NodeRank(1));
    EXPECT_EQ(start.place->nodes, 2);
  }
  facts.apinfo = starts::apinfo({"n1", "n2"}, {{0, 0}, {0, 1}});
  const ClusterStart nodes = *view_mpi({{"PALS_RANKID", "1"}, {"PALS_NODEID", "1"}}, facts)->start;
  EXPECT_FALSE(nodes.place);
  EXPECT_THAT(nodes.names, ElementsAre("n1", "n2"));
  facts.apinfo = "nonsense";
  Environment env = starts::pals();
  env.set("PALS_APINFO", "/run/apinfo");
  EXPECT_EQ(view_mpi(env, facts).error().message,
            "PALS_APINFO=/run/apinfo: the file has no header; give --cluster=none and all options of the job");
}

TEST(MpiStart, AFileOfPalsThatIsLeftOverIsRefused) {
  ProcessFacts facts = starts::below_mpi("n2");
  facts.apinfo = starts::apinfo({"n1", "n2"}, {{0, 0}, {0, 1}});
  EXPECT_THAT(view_mpi(starts::pals(), facts).error().message, HasSubstr("the file has 2 ranks, but PALS_RANKID is 3"));
  Environment env = starts::pals();
  env.set("PALS_RANKID", "1");
  EXPECT_THAT(view_mpi(env, facts).error().message, HasSubstr("the file has 2 ranks, but PMI_SIZE is 4"));
}

TEST(MpiStart, TheHostsOfJsrunAreThoseAfterTheFirst) {
  const ClusterStart start = start_of(starts::jsrun(), "c05n02");
  EXPECT_EQ(start.host.value, "c05n01");
  EXPECT_EQ(start.node_rank.value, NodeRank(1));
}

TEST(MpiStart, FluxSaysHowManyNodes) {
  EXPECT_EQ(start_of(starts::flux(), "n3").nodes.value, 4);
  EXPECT_FALSE(start_of(starts::flux(), "n3").place);
  EXPECT_TRUE(start_of(starts::flux(), "n3").server == RankServer::pmi) << "which tells where the ranks are";
  Environment uneven = starts::flux();  // four tasks on the first of two nodes, one on the other
  uneven.set("FLUX_JOB_SIZE", "5");
  uneven.set("FLUX_JOB_NNODES", "2");
  uneven.set("FLUX_TASK_RANK", "3");
  uneven.set("FLUX_TASK_LOCAL_ID", "3");
  ClusterStart start = start_of(uneven, "n3");
  ASSERT_TRUE(start.place);
  EXPECT_FALSE(start.knows_places);
  ASSERT_TRUE(add_answer(RankAnswer{"f1", "n1", 61'003, "(vector,(0,1,4),(1,1,1))"}, start));
  EXPECT_EQ(start.place->local_tasks, 4);
  EXPECT_EQ(start.place->node, NodeRank(0));
  EXPECT_EQ(start.place->nodes, 2);
}

TEST(MpiStart, RanksThatAreAllOnThisMachineMeetThere) {
  Environment env = starts::open_mpi();
  env.set("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  env.set("OMPI_COMM_WORLD_LOCAL_RANK", "2");
  const ClusterStart start = start_of(env, "laptop");
  EXPECT_EQ(start.host.value, "127.0.0.1");
  ASSERT_TRUE(start.place);
  EXPECT_EQ(start.place->node, NodeRank(0));
  EXPECT_EQ(start.place->nodes, 1);
}

TEST(MpiStart, WithoutAnIdThereIsNoPortOfItsOwn) {
  const Environment env{{"MV2_COMM_WORLD_RANK", "0"},
                        {"MV2_COMM_WORLD_SIZE", "2"},
                        {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
                        {"MV2_COMM_WORLD_LOCAL_SIZE", "1"}};
  EXPECT_EQ(start_of(env, "n1").port.value, 29'500);
  EXPECT_TRUE(start_of(env, "n1").row.empty());
  EXPECT_EQ(start_of(starts::jsrun(), "c05n02").id, "") << "several may run in one LSF job";
}

TEST(MpiStart, WhatIsLeftOverDoesNotCount) {
  ProcessFacts facts = starts::below_mpi("n3");
  facts.pmi_socket = facts.pmix_folder = false;
  for (const Environment& env : {starts::open_mpi(), starts::intel_mpi(), starts::flux()}) {
    const auto view = view_mpi(env, facts);
    ASSERT_TRUE(view);
    EXPECT_FALSE(view->start);
    EXPECT_THAT(view->found, ElementsAre(HasSubstr("left over")));
  }
}

TEST(MpiStart, SlurmThatPlaysPalsIsSlurm) {
  Environment env = starts::pals();
  env.set("PALS_APID", "7.0");
  env.set("SLURM_JOB_ID", "7");
  env.set("SLURM_STEP_ID", "0");
  EXPECT_EQ(mpi_word(env), "");
  env.set("SLURM_STEP_ID", "1");
  EXPECT_EQ(mpi_word(env), "pals");
}

// A variable that is gone is named, or it is another start or none; the numbers are never guessed.
TEST(MpiStart, AVariableThatIsMissing) {
  for (const Environment& whole :
       {starts::open_mpi(), starts::intel_mpi(), starts::flux(), starts::jsrun(), starts::pals()}) {
    const ClusterStart as_it_is = start_of(whole, "c05n02");
    for (const std::string& line : whole.lines()) {
      const std::string name = line.substr(0, line.find('='));
      Environment env = whole;
      env.remove(name);
      const auto view = view_mpi(env, starts::below_mpi("c05n02"));
      if (!view) {
        EXPECT_THAT(view.error().message, HasSubstr(name + " is not set"));
      } else if (view->start) {
        EXPECT_EQ(view->start->nodes.value, as_it_is.nodes.value) << name;
        EXPECT_EQ(view->start->node_rank.value, as_it_is.node_rank.value) << name;
        EXPECT_EQ(view->start->place.has_value(), as_it_is.place.has_value()) << name;
      }
    }
  }
}

TEST(MpiStart, NonsenseIsNamed) {
  for (const char* value : {"", "-1", "3", "two", "99999999999"}) {
    Environment env = starts::open_mpi();
    env.set("OMPI_COMM_WORLD_RANK", value);
    const auto view = view_mpi(env, starts::below_mpi("n3"));
    ASSERT_FALSE(view) << value;
    EXPECT_EQ(view.error().code, ErrorCode::usage);
    EXPECT_THAT(view.error().message, HasSubstr("OMPI_COMM_WORLD_RANK"));
  }
}

}  // namespace launch::mpi_start_test
