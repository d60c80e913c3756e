#include "launch/core/config/elastic_settings.hpp"

#include <gtest/gtest.h>

namespace launch::elastic_settings_test {

using namespace std::chrono_literals;

TEST(ElasticSettings, LimitsAreSaidAsTheOptionHasThem) {
  EXPECT_EQ(to_text(NodeLimits{3, 3}), "3");
  EXPECT_EQ(to_text(NodeLimits{2, 4}), "2:4");
}

TEST(ElasticSettings, DefaultsAreThoseOfTorchrun) {
  const ElasticSettings settings;
  EXPECT_EQ(settings.join_timeout, 600s);
  EXPECT_EQ(settings.last_call_timeout, 30s);
  EXPECT_EQ(settings.close_timeout, 30s);
  EXPECT_EQ(settings.keep_alive_interval, 5s);
  EXPECT_EQ(settings.keep_alive_max_attempt, 3);
}

}  // namespace launch::elastic_settings_test
