#include "launch/core/cluster/pmi_talk.hpp"

#include "../../support/starts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::pmi_talk_test {

using testing::HasSubstr;

const Reach here{"n1", {"10.0.0.1", "fd00::1"}, 61'003};

// What MPICH's server answers, for a job of these values. Any line may be replaced.
struct Server {
  std::map<std::string, std::string> store{{"PMI_process_mapping", "(vector,(0,3,2))"}};
  std::string answer(const std::string& line) {
    if (line.starts_with("cmd=init")) return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (line.starts_with("cmd=get_my_kvsname")) return "cmd=my_kvsname kvsname=kvs_5151_0";
    if (line.starts_with("cmd=barrier_in")) return "cmd=barrier_out rc=0";
    if (line.starts_with("cmd=finalize")) return "cmd=finalize_ack rc=0";
    const std::string key =
        line.substr(line.find("key=") + 4, line.find_first_of(" \n", line.find("key=")) - line.find("key=") - 4);
    if (line.starts_with("cmd=put")) {
      store[key] = line.substr(line.find("value=") + 6, line.size() - line.find("value=") - 7);
      return "cmd=put_result rc=0 msg=success";
    }
    if (!store.contains(key)) return "cmd=get_result rc=-1 msg=key_not_found value=unknown";
    return "cmd=get_result rc=0 msg=success value=" + store[key];
  }
};

TEST(PmiTalk, Rank0TellsTheOthersWhereItIs) {
  Server server;
  PmiTalk first(here), other(std::nullopt);
  for (PmiTalk* talk : {&first, &other}) {
    int lines = 0;
    for (; !talk->done(); ++lines) ASSERT_TRUE(talk->take(server.answer(talk->next())));
    EXPECT_EQ(lines, talk == &first ? 7 : 6) << "rank 0 alone puts";
    EXPECT_EQ(talk->reach(), here);
    EXPECT_EQ(talk->id(), "kvs_5151_0");
    EXPECT_EQ(talk->map(), "(vector,(0,3,2))");
  }
}

TEST(PmiTalk, AMapThatIsTooLongIsLeftOut) {
  Server server;
  server.store.clear();
  PmiTalk talk(here);
  while (!talk.done()) ASSERT_TRUE(talk.take(server.answer(talk.next())));
  EXPECT_EQ(talk.map(), "");
}

TEST(PmiTalk, AnAnswerToAnotherQuestionIsAnError) {
  PmiTalk talk(std::nullopt);
  const auto fault = talk.take("cmd=finalize_ack rc=0");
  EXPECT_EQ(fault.error().message,
            R"(the PMI server answered "cmd=finalize_ack rc=0" to "cmd=init pmi_version=1 pmi_subversion=1")");
  for (const char* line : {"", "cmd=", "rc=0", "cmd=response_to_init rc=-1", "HTTP/1.1 400 Bad Request"})
    EXPECT_FALSE(PmiTalk(std::nullopt).take(line)) << line;
}

TEST(PmiTalk, WhatRank0TellsIsChecked) {
  for (const char* value : {"", "1", "0/n1/", "65536/n1/", "61003//10.0.0.1", "61003/n1", "61003/n1/10.0.0.1/more"}) {
    Server server;
    server.store["launch.0"] = value;
    PmiTalk talk(std::nullopt);
    Status taken;
    while (taken && !talk.done()) taken = talk.take(server.answer(talk.next()));
    ASSERT_FALSE(taken) << value;
    EXPECT_THAT(taken.error().message, HasSubstr("rank 0 did not tell"));
  }
}

TEST(PmiTalk, ManyAddressesAreCutToWhatServersTake) {
  Reach many = here;
  many.hostname = std::string(500, 'n');
  many.addresses.assign(100, "2001:db8:1234:5678:9abc:def0:1234:5678");
  Server server;
  PmiTalk talk(many);
  while (!talk.done()) ASSERT_TRUE(talk.take(server.answer(talk.next())));
  EXPECT_LE(server.store["launch.0"].size(), 1000U);
  EXPECT_EQ(talk.reach().addresses.front(), many.addresses.front());
}

TEST(PmiTalk, AStartIsCompleted) {
  const RankAnswer answer{"kvs_1", "n1", 61'003, "(vector,(0,2,2),(2,1,1))"};
  ClusterStart start = *view_cluster(starts::intel_mpi(), starts::below_mpi("n3"))->start;
  ASSERT_TRUE(start.server == RankServer::pmi);
  ASSERT_TRUE(add_answer(answer, start));
  EXPECT_EQ(start.host.value, "n1");
  EXPECT_EQ(start.host.from, "the PMI server of Hydra");
  EXPECT_EQ(start.port.value, 61'003);
  EXPECT_EQ(start.id, "kvs_1");
  ASSERT_TRUE(start.place) << "alone on its node, but the ranks of others are not";
  EXPECT_EQ(start.place->local_tasks, 1);
  EXPECT_EQ(start.place->node, NodeRank(2));
  ClusterStart even = *view_cluster(starts::intel_mpi(), starts::below_mpi("n3"))->start;
  ASSERT_TRUE(add_answer(RankAnswer{"kvs_1", "n1", 61'003, "(vector,(0,5,1))"}, even));
  EXPECT_FALSE(even.place);
  ClusterStart other = *view_cluster(starts::intel_mpi(), starts::below_mpi("n3"))->start;
  EXPECT_FALSE(add_answer(RankAnswer{"kvs_1", "n1", 61'003, "nonsense"}, other));
  ClusterStart none = *view_cluster(starts::intel_mpi(), starts::below_mpi("n3"))->start;
  EXPECT_TRUE(add_answer(Error{ErrorCode::closed, "it has closed"}, none));
  EXPECT_EQ(none.host.value, "");
  EXPECT_TRUE(none.asked) << "its socket is closed, and no worker must look for it";
  EXPECT_THAT(none.host_hint, HasSubstr("the PMI server of Hydra cannot be asked: it has closed; give --master-addr"));
}

TEST(PmiTalk, RanksThatAreDealtRoundAreCountedNodeByNode) {
  std::vector<int> ranks;
  for (int task = 0; task < 4; ++task) {
    Environment env = starts::intel_mpi();
    env.set("PMI_SIZE", "4");
    env.set("PMI_RANK", std::to_string(task));
    env.set("MPI_LOCALNRANKS", "2");
    ClusterStart start = *view_cluster(env, starts::below_mpi("n1"))->start;
    ASSERT_TRUE(add_answer(RankAnswer{"kvs_1", "n1", 61'003, "(vector,(1,1,1),(0,1,1),(1,1,1),(0,1,1))"}, start));
    ranks.push_back(start.node_rank.value.value);
    EXPECT_EQ(start.notice.empty(), task == 0 || task == 3) << task;
  }
  EXPECT_EQ(ranks, (std::vector{0, 2, 1, 3})) << "the node of rank 0 comes first";
}

}  // namespace launch::pmi_talk_test
