#include "launch/core/session/session_factory.hpp"

#include "launch/core/session/elastic_session.hpp"
#include "launch/core/session/home_session.hpp"
#include "launch/core/session/static_session.hpp"

#include "../../support/configs.hpp"

#include <gtest/gtest.h>

namespace launch::session_factory_test {

template <class Kind>
bool makes(const Config& config) {
  const auto session = make_session(config, {1, 1});
  return dynamic_cast<const Kind*>(session.get()) != nullptr;
}

TEST(SessionFactory, TheKindFollowsFromTheConfiguration) {
  EXPECT_TRUE(makes<HomeSession>(play::static_config(0, 1)));
  EXPECT_TRUE(makes<StaticSession>(play::static_config(0, 2)));
  EXPECT_TRUE(makes<ElasticSession>(play::elastic_config("n0", 1, {1, 1})));
}

}  // namespace launch::session_factory_test
