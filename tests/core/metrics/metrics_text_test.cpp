#include "launch/core/metrics/metrics_text.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::metrics_text_test {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// Has a sample of every family.
Metrics busy_metrics() {
  Metrics metrics = new_metrics("job \"7\"\\\n\xff\xc3\xa9", "n1", 3);
  metrics.version = "0.1.0";
  metrics.node_rank = NodeRank(1);
  Round round;
  round.assignment.base_global_rank = GlobalRank(3);
  round.assignment.group_world_size = 2;
  round.assignment.world_size = 6;
  round.number = 4;
  metrics.round = round;
  metrics.phase = Metrics::Phase::over;
  metrics.exit_code = 7;
  metrics.workers[0].state = Metrics::WorkerState::running;
  metrics.workers[1].state = Metrics::WorkerState::ended;
  metrics.workers[2].state = Metrics::WorkerState::failed;
  metrics.restarts_after_failure = 3;
  metrics.restarts_by_membership = 1;
  metrics.hangs = 2;
  metrics.nodes_joined = 2;
  metrics.nodes_left = 1;
  metrics.recovery.observe(1500ms);
  metrics.recovery.observe(3h);
  metrics.exits[{ExitStatus::Kind::exited, 0}] = 5;
  metrics.exits[{ExitStatus::Kind::signalled, SIGSEGV}] = 1;
  return metrics;
}

Readings busy_readings(const StoreTally& store) {
  Readings readings;
  readings.up = 90500ms;
  readings.started_at = 1'783'094'065.25;
  readings.resident_bytes = 4'194'304;
  readings.outputs = {Readings::Output{true, 12, 3456, 0}, Readings::Output{true, 1, 20, 8}};
  readings.silences = {{GlobalRank(3), LocalRank(0), 2500ms}};
  readings.steps = {{GlobalRank(3), LocalRank(0), 1200, 9.5}, {GlobalRank(4), LocalRank(1), 7, std::nullopt}};
  readings.watches_hangs = true;
  readings.store = &store;
  return readings;
}

std::string busy_text(MetricsForm form) {
  StoreTally store;
  store.count(Request(SetRequest{}).index(), 2us);
  store.count(Request(GetRequest{}).index(), 3ms);
  return metrics_text(busy_metrics(), busy_readings(store), form);
}

// The file has the text; LAUNCH_UPDATE_GOLDEN=1 writes it.
void expect_as_in(const std::string& name, const std::string& text) {
  const std::string path = std::string(LAUNCH_TEST_DATA) + "/" + name;
  if (std::getenv("LAUNCH_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), text) << name;
}

TEST(MetricsText, HasTheClassicForm) { expect_as_in("metrics.prom", busy_text(MetricsForm::classic)); }

TEST(MetricsText, HasTheFormOfOpenMetrics) {
  expect_as_in("metrics.openmetrics", busy_text(MetricsForm::open_metrics));
}

TEST(MetricsText, EveryFamilyCanBeWrittenAndNoneTwice) {
  const std::string text = busy_text(MetricsForm::open_metrics);
  std::set<std::string_view> names;
  for (const MetricFamily& family : metric_families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_THAT(text, HasSubstr("# HELP " + std::string(family.name) + " " + std::string(family.help) + "\n"));
    const std::string ending = family.unit.empty() ? "" : "_" + std::string(family.unit);
    EXPECT_TRUE(family.name.ends_with(ending)) << family.name;
    EXPECT_FALSE(family.name.ends_with("_total")) << family.name;
  }
}

TEST(MetricsText, WhatIsNotKnownIsLeftOut) {
  const std::string text = metrics_text(new_metrics("job", "n0", 1), {}, MetricsForm::classic);
  for (const char* family : {"output", "silence", "store", "exit"}) EXPECT_THAT(text, Not(HasSubstr(family)));
  EXPECT_THAT(text, HasSubstr("launch_job_info{run_id=\"job\",node_rank=\"\",host=\"n0\",version=\"\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("launch_ready 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("# EOF")));
}

TEST(MetricsText, AStreamThatDoesNotPassIsLeftOut) {
  Readings readings;
  readings.outputs[1] = {true, 1, 2, 3};
  const std::string text = metrics_text(new_metrics("job", "n0", 1), readings, MetricsForm::classic);
  EXPECT_THAT(text, HasSubstr("launch_output_bytes_total{stream=\"stderr\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("stdout")));
}

TEST(MetricsText, LabelsAreEscaped) {
  const std::string bad = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"plain {}=,", "plain {}=,"},
      {"a\\b\"c\nd", "a\\\\b\\\"c\\nd"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\xff", bad},
      {"\xc3", bad},
      {"\xc3(", bad + "("},
      {"\x80x", bad + "x"},
      {"\xc0\xaf", bad + bad},
      {"\xe0\x80\x80", bad + bad + bad},
      {"\xed\xa0\x80", bad + bad + bad},
      {"\xf4\x90\x80\x80", bad + bad + bad + bad},
      {"\xf5\x80\x80\x80", bad + bad + bad + bad},
      {std::string("\0", 1), std::string("\0", 1)},
  };
  for (const auto& [value, escaped] : rows) EXPECT_EQ(escaped, escaped_label(value)) << value;
}

}  // namespace launch::metrics_text_test
