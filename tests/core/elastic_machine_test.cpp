#include "launch/core/elastic_machine.hpp"

#include <gtest/gtest.h>

namespace launch::elastic_machine_test {

TEST(ElasticMachine, KeysAreThoseOfTorchrun) {
  EXPECT_EQ(state_key("job42"), "/torch.rendezvous.job42");
  EXPECT_EQ(round_prefix("job42", 3), "torch.rendezvous.job42.3");
}

}  // namespace launch::elastic_machine_test
