#include "launch/core/options/node_options.hpp"

#include "../config/settling.hpp"
#include "launch/core/base/text.hpp"

namespace launch::node_options_test {

using ::testing::HasSubstr;

TEST(NodeOptions, AreThoseOfTheJobAndTheRendezvous) {
  for (const OptionRow& row : node_options())
    EXPECT_TRUE(row.group == OptionGroup::nodes || row.group == OptionGroup::rendezvous) << row.name;
}

TEST(NodeOptions, TheirDefaultsAreWhatTheRulesTake) {
  const Config config = config_of({"--nnodes=2"});
  EXPECT_EQ(config.store().host, row_of(&Options::master_addr).initial);
  EXPECT_EQ(std::to_string(config.store().port), row_of(&Options::master_port).initial);
  EXPECT_EQ(std::to_string(config.node_rank().value), row_of(&Options::node_rank).initial);
  EXPECT_EQ(config.run_id, row_of(&Options::rdzv_id).initial);
  EXPECT_EQ(config.rendezvous_timeout, std::chrono::seconds(900));
  EXPECT_EQ(row_of(&Options::rdzv_conf).initial, "timeout=900");
}

// Defaults of parts of a value, which only the words tell.
TEST(NodeOptions, TheirWordsTellWhatC10dTakesWithoutBeingTold) {
  const Config config = config_of({"--nnodes=2", "--rdzv-backend=c10d"});
  EXPECT_THAT(row_of(&Options::rdzv_endpoint).text, HasSubstr("port " + std::to_string(config.store().port)));
  const auto told = [](Duration time) {
    return " (" + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + ")";
  };
  const std::string_view text = row_of(&Options::rdzv_conf).text;
  EXPECT_THAT(text, HasSubstr("join_timeout" + told(config.c10d()->settings.join_timeout)));
  EXPECT_THAT(text, HasSubstr("last_call_timeout" + told(config.c10d()->settings.last_call_timeout)));
}

}  // namespace launch::node_options_test
