#include "launch/core/config/metrics_settings.hpp"

#include "settling.hpp"

namespace launch::metrics_settings_test {

using ::testing::HasSubstr;

TEST(MetricsSettings, AreOffByDefault) {
  EXPECT_FALSE(config_of({}).metrics.wanted());
  EXPECT_TRUE(config_of({"--metrics-file=m.prom"}).metrics.wanted());
  EXPECT_EQ("m.prom", config_of({"--metrics-file=m.prom"}).metrics.file);
}

TEST(MetricsSettings, ThePlaceIsAnAddressAndAPort) {
  for (const auto& [text, place] :
       std::vector<std::pair<std::string, Endpoint>>{{":9400", {"127.0.0.1", 9400}},
                                                     {":0", {"127.0.0.1", 0}},
                                                     {"0.0.0.0:80", {"0.0.0.0", 80}},
                                                     {"localhost:9400", {"localhost", 9400}},
                                                     {"[::1]:9400", {"::1", 9400}},
                                                     {"[::]:9400", {"::", 9400}}})
    EXPECT_EQ(place, config_of({"--metrics=" + text}).metrics.listen) << text;
}

TEST(MetricsSettings, AFaultSaysWhatWouldBeRight) {
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"9400", "the port is missing; write :PORT"},
           {"127.0.0.1", "the port is missing"},
           {"::1", "the port is missing"},
           {":", "the port after the ':' is missing"},
           {":x", "the port x is not a number from 1 to 65535"},
           {":65536", "is not a number from 1 to 65535"},
           {":-1", "is not a number"},
           {"node0:9400", "node0 is not an address; write one of this host, as in 127.0.0.1:9400"},
           {"[::1:9400", "the ']' after the IPv6 address is missing"},
           {"a b:1", "a host name consists of letters"}}) {
    EXPECT_THAT(fault_of({"--metrics=" + text}), HasSubstr(fault)) << text;
    EXPECT_THAT(fault_of({"--metrics=" + text}), HasSubstr("--metrics " + (text == "a b:1" ? "\"a b:1\"" : text)))
        << text;
  }
  for (const char* option : {"--metrics=", "--metrics-file="})
    EXPECT_THAT(fault_of({option}), HasSubstr("the value is empty")) << option;
}

}  // namespace launch::metrics_settings_test
