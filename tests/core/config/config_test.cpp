#include "launch/core/config/config.hpp"

#include "settling.hpp"

namespace launch::config_test {

TEST(Config, OnlyAnElasticJobThatHasNodesToSpareGoesOnWithoutOne) {
  const Args c10d{"--rdzv-backend=c10d", "--rdzv-endpoint=n1:1"};
  const auto goes_on = [&](Args more) {
    more.insert(more.end(), c10d.begin(), c10d.end());
    return goes_on_without_a_node(config_of(more));
  };
  EXPECT_FALSE(goes_on({"--nnodes=3"}));
  EXPECT_TRUE(goes_on({"--nnodes=2:3"}));
  EXPECT_TRUE(goes_on({"--nnodes=3", "--max-restarts=1"})) << "another may come in its place";
  EXPECT_FALSE(goes_on_without_a_node(config_of({"--nnodes=2", "--node-rank=0", "--master-addr=n1"})));
}

}  // namespace launch::config_test
