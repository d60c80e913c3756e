#include "launch/core/store/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::keys_test {

using testing::ElementsAre;

TEST(Keys, TorchrunsAreAsItSpellsThem) {
  EXPECT_EQ(role_info_key("job", 3), "/job/torchelastic/role_info/3");
  EXPECT_EQ(ranks_key("job", 0), "/job/torchelastic/assigned_ranks/0");
  EXPECT_EQ(ended_count_key("job"), "/job/torchelastic/agent/terminal_state/num_members");
  EXPECT_EQ(all_ended_key("job"), "/job/torchelastic/agent/terminal_state/last_member");
  EXPECT_EQ(state_key("job"), "/torch.rendezvous.job");
  EXPECT_THAT(meeting_keys(round_prefix("job", 2)), ElementsAre("/torch.rendezvous.job.2/MASTER_ADDR",  //
                                                                "/torch.rendezvous.job.2/MASTER_PORT"));
}

TEST(Keys, ThoseOfTheOlderRendezvousAreItsPaths) {
  const std::string root = versions_root("/torchelastic/p2p", "job");
  EXPECT_EQ(root, "/torchelastic/p2p/run_job");
  EXPECT_EQ(versions_root("p/", "job"), "/p/run_job");
  EXPECT_EQ(active_version_key(root), "/torchelastic/p2p/run_job/rdzv/active_version");
  EXPECT_EQ(version_counter_key(root), "/torchelastic/p2p/run_job/rdzv/version_counter");
  EXPECT_EQ(lease_key(root, 12, 3), "/torchelastic/p2p/run_job/rdzv/v_12/rank_3");
  EXPECT_EQ(version_store(root, 12), "/torchelastic/p2p/run_job/rdzv/v_12/kv/");
}

TEST(Keys, ARoundHasItsOwn) {
  EXPECT_EQ(abort_key(attempt_prefix("job", 0)), "/job/launch/abort");
  EXPECT_EQ(abort_key(attempt_prefix("job", 2)), "/job/launch/attempt/2/launch/abort");
  EXPECT_EQ(account_key(round_prefix("job", 2), 5), "/torch.rendezvous.job.2/launch/ended/5");
  EXPECT_EQ(ask_key(attempt_prefix("job", 0), 12), "/job/launch/ask/12");
  EXPECT_EQ(answer_key(round_prefix("job", 2), 12, 5), "/torch.rendezvous.job.2/launch/answer/12/5");
  EXPECT_EQ(restarts_key("job"), "/torch.rendezvous.job/launch/restarts");
}

TEST(Keys, ARoleInfoTellsItsNode) {
  EXPECT_EQ(node_of_role_info(role_info_key("job", 12), "job"), 12);
  for (const char* const other : {"", "/", "/job", "job/torchelastic/role_info/1", "/job2/torchelastic/role_info/1",
                                  "/jo/torchelastic/role_info/1", "/job/torchelastic/role_info/",
                                  "/job/torchelastic/role_info/x", "/job/torchelastic/assigned_ranks/1"})
    EXPECT_FALSE(node_of_role_info(other, "job")) << other;
}

TEST(Keys, AJobShowsThatItIsThere) {
  EXPECT_EQ(run_id_of(state_key("a/b")), "a/b");
  EXPECT_EQ(run_id_of(role_info_key("job", 0)), "job");
  EXPECT_FALSE(run_id_of(role_info_key(attempt_prefix("job", 1), 0))) << "whose first attempt shows it already";
  EXPECT_FALSE(run_id_of(meeting_keys(round_prefix("job", 0)).front()));
  EXPECT_FALSE(run_id_of(abort_key(round_prefix("job", 0))));
  EXPECT_FALSE(run_id_of(restarts_key("job")));
  EXPECT_FALSE(run_id_of("worker/torchelastic/role_info/0"));
}

TEST(Keys, AFenceKeepsThoseOfAgents) {
  const auto is_kept = [kept = agent_keys("job")](const std::string& key) {
    for (const std::string& begin : kept)
      if (key.starts_with(begin)) return true;
    return false;
  };
  for (const std::string& key :
       {role_info_key("job", 0), ranks_key("job", 1), ended_count_key("job"), all_ended_key("job"), abort_key("job"),
        claim_key("job", 0), begun_key("job"), role_info_key(attempt_prefix("job", 1), 0), std::string(never_key)})
    EXPECT_TRUE(is_kept(key)) << key;
  for (const char* const key : {"default_pg/0", "/job/of_workers", "/other/launch/abort"})
    EXPECT_FALSE(is_kept(key)) << key;
}

}  // namespace launch::keys_test
