#include "launch/core/rendezvous/other_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::other_jobs_test {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OtherJobs, AreFoundByTheStateOfACTenDJob) {
  EXPECT_THAT(other_run_ids({"/torch.rendezvous.a", "/torch.rendezvous.b", "launch/push"}, "a"), ElementsAre("b"));
}

TEST(OtherJobs, AreFoundByTheRolesOfAStaticJob) {
  EXPECT_THAT(other_run_ids({"/a/torchelastic/role_info/0", "/b c/torchelastic/role_info/1", "init/"}, "a"),
              ElementsAre("\"b c\""));
}

TEST(OtherJobs, KeysOfRoundsAndAttemptsNameNone) {
  EXPECT_THAT(other_run_ids({"/torch.rendezvous.a.0/torchelastic/role_info/0", "/torch.rendezvous.a.0/MASTER_ADDR",
                             "/torch.rendezvous.a/launch/restarts", "/a/launch/attempt/1/torchelastic/role_info/0",
                             "/default_pg/0//cpu//0/1", "/a/launch/nnodes"},
                            "a"),
              IsEmpty());
}

TEST(OtherJobs, OfManyAFewAreNamed) {
  std::vector<std::string> keys;
  for (int job = 0; job < 10; ++job) keys.push_back("/torch.rendezvous." + std::to_string(job));
  EXPECT_EQ(other_run_ids(keys, "a").size(), 3U);
}

}  // namespace launch::other_jobs_test
