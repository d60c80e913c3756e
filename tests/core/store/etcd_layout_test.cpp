#include "launch/core/store/etcd_layout.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/store/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::etcd_layout_test {

using namespace std::chrono_literals;

TEST(EtcdLayout, OfEtcdV2HasTheStateBesideTheKeys) {
  const EtcdLayout layout("job 7");
  const std::string state = state_key("job 7");
  EXPECT_EQ(layout.target(state), "/v2/keys/torch/elastic/rendezvous/job%207");
  EXPECT_EQ(layout.target("/a"), "/v2/keys/torch/elastic/store/YQ==");
  EXPECT_EQ(layout.target("a"), "/v2/keys/torch/elastic/store/YQ==");
  EXPECT_TRUE(layout.is_plain(state));
  EXPECT_FALSE(layout.can_remove(state));
  EXPECT_FALSE(layout.is_plain("/a"));
  EXPECT_EQ(layout.absent_value(state), no_state);
  EXPECT_EQ(layout.absent_value("/a"), "");
  EXPECT_EQ(layout.lasts(state, {}), "&ttl=7200");
  EXPECT_EQ(layout.lasts("/a", {}), "");
  EXPECT_FALSE(layout.is_folder(""));
}

// By what python-etcd 0.4.5 asks for torchrun 2.13.
TEST(EtcdLayout, TheOlderOneHasAFolderOfEachVersion) {
  const EtcdLayout layout("j.7", "/torchelastic/p2p");
  const std::string root = versions_root("/torchelastic/p2p", "j.7");
  EXPECT_EQ(root, "/torchelastic/p2p/run_j.7");
  EXPECT_EQ(layout.target(active_version_key(root)), "/v2/keys/torchelastic/p2p/run_j.7/rdzv/active_version");
  EXPECT_EQ(layout.target(version_counter_key(root)), "/v2/keys/torchelastic/p2p/run_j.7/rdzv/version_counter");
  EXPECT_EQ(layout.target(lease_key(root, 3, 1)), "/v2/keys/torchelastic/p2p/run_j.7/rdzv/v_3/rank_1");
  const std::string prefix = round_prefix("j.7", 3);
  EXPECT_EQ(layout.target(meeting_keys(prefix)[0]),
            "/v2/keys/torchelastic/p2p/run_j.7/rdzv/v_3/kv/" + encode_base64("MASTER_ADDR"));
  EXPECT_EQ(layout.target(role_info_key(prefix, 1)),
            "/v2/keys/torchelastic/p2p/run_j.7/rdzv/v_3/kv/" + encode_base64("torchelastic/role_info/1"));
  EXPECT_EQ(layout.target(restarts_key("j.7")),
            "/v2/keys/torchelastic/p2p/run_j.7/launch/" + encode_base64(restarts_key("j.7").substr(1)));
  EXPECT_EQ(layout.target(host_key), "/v2/keys/torchelastic/p2p/run_j.7/launch/" + encode_base64(host_key));
}

TEST(EtcdLayout, TheOlderOneKeepsPathsAsTheyAre) {
  const EtcdLayout layout("j", "p/");
  const std::string root = versions_root("p/", "j");
  EXPECT_EQ(root, "/p/run_j");
  EXPECT_TRUE(layout.is_plain(active_version_key(root)));
  EXPECT_TRUE(layout.can_remove(active_version_key(root)));
  EXPECT_EQ(layout.absent_value(active_version_key(root)), "");
  EXPECT_TRUE(layout.is_folder(root));
  EXPECT_EQ(layout.target(root), "/v2/keys/p/run_j");
  for (const std::string& key : {state_key("j"), meeting_keys(round_prefix("j", 1))[0], root + "x/rdzv/a"})
    EXPECT_FALSE(layout.is_plain(key)) << key;
  EXPECT_EQ(versions_root("/", "j"), "/run_j");
}

TEST(EtcdLayout, ATimeIsInWholeSeconds) {
  const EtcdLayout layout("j", "/p");
  EXPECT_EQ(layout.lasts("/p/run_j/rdzv/active_version", {}), "");
  EXPECT_EQ(layout.lasts("/p/run_j/rdzv/active_version", 1500ms), "&ttl=2");
  EXPECT_EQ(layout.lasts(abort_key(job_prefix("j")), {}), "&ttl=7200");
}

TEST(EtcdLayout, EscapesWhatAPathOrAFormCannotHold) {
  EXPECT_EQ(percent_encoded("a-B_9.~ /+=&%\n"), "a-B_9.~%20%2F%2B%3D%26%25%0A");
  EXPECT_EQ(percent_encoded("a/b+c= ?", "/+="), "a/b+c=%20%3F");
}

}  // namespace launch::etcd_layout_test
