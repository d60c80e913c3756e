#include "launch/core/options/nearest_name.hpp"

#include <gtest/gtest.h>

namespace launch::nearest_name_test {

const std::vector<std::string> known{"--nnodes",      "--nproc-per-node", "--node-rank", "--master-addr",
                                     "--master-port", "--role",           "--standalone"};

TEST(NearestName, FindsWhatASlipOfTheFingerMeant) {
  struct Case {
    const char* typed;
    const char* meant;
  };
  const Case cases[] = {
      {"--nprocs-per-node", "--nproc-per-node"},
      {"--nproc_per-node", "--nproc-per-node"},
      {"--nnode", "--nnodes"},
      {"--nodes", "--nnodes"},
      {"--nod-rank", "--node-rank"},
      {"-nnodes", "--nnodes"},
      {"--masterport", "--master-port"},
      {"--rol", "--role"},
  };
  for (const auto& c : cases) EXPECT_EQ(nearest_name(c.typed, known), c.meant) << c.typed;
}

TEST(NearestName, CompletesABeginningOnlyWhenOneNameHasIt) {
  EXPECT_EQ(nearest_name("--stand", known), "--standalone");
  EXPECT_EQ(nearest_name("--nproc", known), "--nproc-per-node");
  EXPECT_EQ(nearest_name("--master", known), std::nullopt);
}

TEST(NearestName, OffersNothingWhenNothingIsNear) {
  for (const char* typed : {"--log-dir", "--x", "-x", "--", "-", "", "--max-restarts"}) {
    EXPECT_EQ(nearest_name(typed, known), std::nullopt) << typed;
  }
  EXPECT_EQ(nearest_name("--" + std::string(100'000, 'n'), known), std::nullopt);
}

}  // namespace launch::nearest_name_test
