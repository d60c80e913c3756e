#include "launch/core/metrics/scrape.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::scrape_test {

using testing::StartsWith;

std::string write(MetricsForm form) { return form == MetricsForm::open_metrics ? "open" : "classic"; }

ScrapeReply ask(const std::string& method, const std::string& target, const std::string& accept = "") {
  return reply_to({method, target, accept}, {false, "no worker runs"}, write);
}

TEST(Scrape, AcceptChoosesTheForm) {
  constexpr auto open = MetricsForm::open_metrics;
  constexpr auto classic = MetricsForm::classic;
  const std::vector<std::pair<std::string, MetricsForm>> rows = {
      {"", classic},
      {"*/*", classic},
      {"text/plain", classic},
      {"text/html,application/xhtml+xml,*/*;q=0.8", classic},
      {"application/openmetrics-text", open},
      {"Application/OpenMetrics-Text ; Version=1.0.0", open},
      {"application/openmetrics-text; version=\"1.0.0\"", open},
      {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
       open},  // Prometheus 2.42
      {"application/openmetrics-text;version=2.0.0", classic},
      {"application/openmetrics-text;q=0", classic},
      {"application/openmetrics-text;q=0.3,text/plain;q=0.5", classic},
      {"application/openmetrics-text;q=0.5,text/plain;q=0.5", open},
      {"text/plain;q=0.2 , application/openmetrics-text;q=0.3", open},
      {"application/openmetrics-text;q=x", classic},
      {"application/openmetrics-text;q=7", open},
      {"application/openmetrics-text;q=-1", classic},
      {"application/openmetrics-textual", classic},
      {",,;;=,;q=", classic},
      {"application/openmetrics-text;q", open},
      {std::string("\0\xff", 2), classic},
  };
  for (const auto& [accept, form] : rows) EXPECT_EQ(form, form_for(accept)) << accept;
}

TEST(Scrape, TheTypeSaysWhichFormItIs) {
  const ScrapeReply classic = ask("GET", "/metrics");
  EXPECT_EQ(200, classic.status);
  EXPECT_EQ("classic", classic.body);
  EXPECT_EQ("text/plain; version=0.0.4; charset=utf-8", classic.type);
  const ScrapeReply open = ask("GET", "/metrics?x=1", "application/openmetrics-text");
  EXPECT_EQ("open", open.body);
  EXPECT_EQ("application/openmetrics-text; version=1.0.0; charset=utf-8", open.type);
}

TEST(Scrape, OnlyThreePathsAreKnown) {
  for (const char* target : {"", "/", "/metric", "/metrics/", "/Metrics", "metrics", "/?/metrics", "*"}) {
    EXPECT_EQ(404, ask("GET", target).status) << target;
    EXPECT_EQ(404, ask("POST", target).status) << target;
  }
  for (const char* target : {"/metrics", "/healthz", "/readyz?a"})
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""})
      EXPECT_EQ(405, ask(method, target).status) << method << ' ' << target;
}

TEST(Scrape, ProbesAreAnswered) {
  for (const char* method : {"GET", "HEAD"}) {
    EXPECT_EQ(200, ask(method, "/healthz").status);
    EXPECT_EQ("ok\n", ask(method, "/healthz").body);
    EXPECT_EQ(503, ask(method, "/readyz").status);
    EXPECT_EQ("no worker runs\n", ask(method, "/readyz").body);
    EXPECT_EQ(200, reply_to({method, "/readyz", ""}, {true, "all run"}, write).status);
  }
  EXPECT_THAT(ask("GET", "/nothing").body, StartsWith("there is only /metrics"));
}

}  // namespace launch::scrape_test
