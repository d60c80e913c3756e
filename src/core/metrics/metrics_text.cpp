#include "launch/core/metrics/metrics_text.hpp"

#include "launch/core/job/job.hpp"

#include <initializer_list>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using enum FamilyType;

enum class Family : std::size_t {
  job,
  ready,
  workers,
  nodes,
  world_size,
  round,
  restarts,
  membership_changes,
  recovery,
  worker_exits,
  job_exit_code,
  uptime,
  output_lines,
  output_bytes,
  output_lost,
  worker_silence,
  worker_step,
  worker_step_rate,
  hangs,
  store_operations,
  store_operation_time,
  resident_memory,
  start_time,
  end,
};

constexpr std::array<MetricFamily, static_cast<std::size_t>(Family::end)> family_rows = {{
    {"launch_job", info, "", "Which job and which of its nodes this launch is; always 1."},
    {"launch_ready", gauge, "", "1 if all workers of this node run, otherwise 0."},
    {"launch_workers", gauge, "", "Workers of this node by state, in the current round."},
    {"launch_nodes", gauge, "", "Nodes in the current round; 0 before the first one."},
    {"launch_world_size", gauge, "", "Workers of all nodes in the current round; 0 before the first one."},
    {"launch_round", gauge, "", "Number of the current round."},
    {"launch_restarts", counter, "", "How often all workers of the job were restarted, by cause."},
    {"launch_membership_changes", counter, "", "Nodes that joined or left from one round to the next."},
    {"launch_recovery_seconds", histogram, "seconds",
     "Time from the end of the last worker of a round until all workers of the next one were started."},
    {"launch_worker_exits", counter, "", "Workers of this node that ended, by exit code or signal."},
    {"launch_job_exit_code", gauge, "", "Exit code of the job; there only once the job has ended."},
    {"launch_uptime_seconds", gauge, "seconds", "Time since this launch was started."},
    {"launch_output_lines", counter, "", "Lines that workers of this node wrote through launch."},
    {"launch_output_bytes", counter, "bytes", "Bytes that workers of this node wrote through launch."},
    {"launch_output_lost_bytes", counter, "bytes", "Bytes of the workers' output that could not be written."},
    {"launch_worker_silence_seconds", gauge, "seconds",
     "Time since a running worker last wrote through launch, or since it was started."},
    {"launch_worker_step", gauge, "", "Step that a running worker has reached, as --progress finds it."},
    {"launch_worker_step_rate", gauge, "", "Steps of a worker per second, of the last minute."},
    {"launch_hangs", counter, "", "How often no worker of the job made progress for --hang-timeout; told by one node."},
    {"launch_store_operations", counter, "", "Requests to the job's store, if this node hosts it."},
    {"launch_store_operation_seconds", histogram, "seconds",
     "Time that the store took to apply a request, without waits for keys."},
    {"launch_resident_memory_bytes", gauge, "bytes", "Resident memory of launch itself, without its workers."},
    {"launch_start_time_seconds", gauge, "seconds", "When launch was started, in seconds since 1970."},
}};

// How many bytes the character of UTF-8 at the beginning has; 0: it is none.
std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  const std::size_t size = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const bool overlong = (lead == 0xE0U && byte(1) < 0xA0U) || (lead == 0xF0U && byte(1) < 0x90U);
  const bool none = (lead == 0xEDU && byte(1) >= 0xA0U) || (lead == 0xF4U && byte(1) >= 0x90U);
  return overlong || none ? 0 : size;
}

class Writer {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string>>;

  // `common`: labels of every sample.
  Writer(MetricsForm form, Labels common) : form_(form), common_(list_of(common)) {}

  // Begins a family.
  Writer& family(Family which) {
    row_ = &family_rows[static_cast<std::size_t>(which)];
    const std::string name = open() ? std::string(row_->name) : sample_name();
    add("# HELP {} {}\n", name, row_->help);
    add("# TYPE {} {}\n", name, type());
    if (open() && !row_->unit.empty()) add("# UNIT {} {}\n", name, row_->unit);
    return *this;
  }

  // A sample of the family that was begun.
  template <class Number>
  Writer& sample(Number value, Labels labels = {}) {
    add("{}{} {}\n", sample_name(), braced(list_of(labels)), value);
    return *this;
  }

  void samples(const Histogram& values) {
    for (std::size_t bucket = 0; bucket < values.bounds().size(); ++bucket)
      add_bucket(bound(values.bounds()[bucket]), values.up_to(bucket));
    add_bucket("+Inf", values.count());
    add("{0}_sum{1} {2}\n{0}_count{1} {3}\n", row_->name, braced({}), values.sum(), values.count());
  }

  std::string finish() {
    if (open()) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  bool open() const { return form_ == MetricsForm::open_metrics; }

  template <class... Parts>
  void add(fmt::format_string<Parts...> form, Parts&&... parts) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Parts>(parts)...);
  }

  std::string sample_name() const {
    const char* const ending = row_->type == counter ? "_total" : row_->type == info ? "_info" : "";
    return fmt::format("{}{}", row_->name, ending);
  }

  std::string_view type() const {
    switch (row_->type) {
      case counter:
        return "counter";
      case histogram:
        return "histogram";
      case info:
        return open() ? "info" : "gauge";
      case gauge:
        break;
    }
    return "gauge";
  }

  void add_bucket(std::string bound, std::uint64_t count) {
    add("{}_bucket{} {}\n", row_->name, braced(list_of({{"le", std::move(bound)}})), count);
  }

  static std::string list_of(Labels labels) {
    std::string text;
    for (const auto& [name, value] : labels)
      text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped_label(value));
    return text;
  }

  // The info of the job has the common labels anyway.
  std::string braced(std::string_view own) const {
    const std::string_view common = row_->type == info ? std::string_view() : common_;
    if (own.empty() && common.empty()) return {};
    return fmt::format("{{{}{}{}}}", common, own.empty() || common.empty() ? "" : ",", own);
  }

  // OpenMetrics wants a floating point number there.
  std::string bound(double value) const {
    std::string text = fmt::format("{}", value);
    if (open() && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }

  MetricsForm form_;
  std::string common_;
  const MetricFamily* row_ = nullptr;
  std::string text_;
};

std::string rank_of(const Metrics& metrics) {
  return metrics.node_rank ? std::to_string(metrics.node_rank->value) : "";
}

Writer writer_of(const Metrics& metrics, MetricsForm form) {
  if (form != MetricsForm::file) return {form, {}};
  return {form, {{"run_id", metrics.run_id}, {"node_rank", rank_of(metrics)}}};
}

void write_job(Writer& to, const Metrics& metrics) {
  to.family(Family::job)
      .sample(1, {{"run_id", metrics.run_id},
                  {"node_rank", rank_of(metrics)},
                  {"host", metrics.host},
                  {"version", metrics.version}});
  to.family(Family::ready).sample(readiness(metrics).ready ? 1 : 0);
  to.family(Family::workers)
      .sample(metrics.count(Metrics::WorkerState::running), {{"state", "running"}})
      .sample(metrics.count(Metrics::WorkerState::ended), {{"state", "ended"}})
      .sample(metrics.count(Metrics::WorkerState::failed), {{"state", "failed"}});
  to.family(Family::nodes).sample(metrics.round.assignment.group_world_size);
  to.family(Family::world_size).sample(metrics.round.assignment.world_size);
  to.family(Family::round).sample(metrics.round.number);
}

void write_changes(Writer& to, const Metrics& metrics) {
  to.family(Family::restarts)
      .sample(metrics.restarts_after_failure, {{"cause", "failure"}})
      .sample(metrics.restarts_by_membership, {{"cause", "membership"}})
      .sample(metrics.restarts_asked, {{"cause", "asked"}});
  to.family(Family::membership_changes)
      .sample(metrics.nodes_joined, {{"change", "joined"}})
      .sample(metrics.nodes_left, {{"change", "left"}});
  to.family(Family::recovery).samples(metrics.recovery);
  if (!metrics.exits.empty()) to.family(Family::worker_exits);
  for (const auto& [end, number] : metrics.exits) {
    const bool by_signal = end.first == ExitStatus::Kind::signalled;
    to.sample(number, {{"kind", by_signal ? "signal" : "exit_code"},
                       {"value", by_signal ? signal_name(end.second) : std::to_string(end.second)}});
  }
  if (metrics.exit_code) to.family(Family::job_exit_code).sample(*metrics.exit_code);
}

void write_stream(Writer& to, const Readings& readings, std::uint64_t Readings::Output::*which) {
  constexpr std::array<const char*, 2> names = {"stdout", "stderr"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (readings.outputs[i].passes) to.sample(readings.outputs[i].*which, {{"stream", names[i]}});
}

void write_outputs(Writer& to, const Readings& readings) {
  if (readings.outputs[0].passes || readings.outputs[1].passes) {
    write_stream(to.family(Family::output_lines), readings, &Readings::Output::lines);
    write_stream(to.family(Family::output_bytes), readings, &Readings::Output::bytes);
    write_stream(to.family(Family::output_lost), readings, &Readings::Output::lost);
  }
  if (readings.silences.empty()) return;
  to.family(Family::worker_silence);
  for (const Readings::Silence& worker : readings.silences)
    to.sample(seconds_of(worker.since_output),
              {{"rank", std::to_string(worker.rank.value)}, {"local_rank", std::to_string(worker.local_rank.value)}});
}

void write_steps(Writer& to, const Readings& readings) {
  if (readings.steps.empty()) return;
  const auto labels_of = [](const Readings::Step& worker) {
    return std::pair(std::to_string(worker.rank.value), std::to_string(worker.local_rank.value));
  };
  to.family(Family::worker_step);
  for (const Readings::Step& worker : readings.steps) {
    const auto [rank, local_rank] = labels_of(worker);
    to.sample(worker.step, {{"rank", rank}, {"local_rank", local_rank}});
  }
  to.family(Family::worker_step_rate);
  for (const Readings::Step& worker : readings.steps) {
    const auto [rank, local_rank] = labels_of(worker);
    if (worker.rate) to.sample(*worker.rate, {{"rank", rank}, {"local_rank", local_rank}});
  }
}

void write_store(Writer& to, const StoreTally& store) {
  to.family(Family::store_operations);
  for (std::size_t kind = 0; kind < store.requests.size(); ++kind)
    if (store.requests[kind] > 0) to.sample(store.requests[kind], {{"operation", std::string(request_name(kind))}});
  to.family(Family::store_operation_time).samples(store.took);
}

}  // namespace

std::span<const MetricFamily> metric_families() { return family_rows; }

std::string metrics_text(const Metrics& metrics, const Readings& readings, MetricsForm form) {
  Writer to = writer_of(metrics, form);
  write_job(to, metrics);
  write_changes(to, metrics);
  to.family(Family::uptime).sample(seconds_of(readings.up));
  write_outputs(to, readings);
  write_steps(to, readings);
  if (readings.watches_hangs) to.family(Family::hangs).sample(metrics.hangs);
  if (readings.store != nullptr && readings.store->took.count() > 0) write_store(to, *readings.store);
  to.family(Family::resident_memory).sample(readings.resident_bytes);
  to.family(Family::start_time).sample(readings.started_at);
  return to.finish();
}

std::string escaped_label(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const std::size_t size = character_size(value);
    const std::string_view character = value.substr(0, size);
    if (size == 0) {
      text += "\xEF\xBF\xBD";
    } else if (character == "\n") {
      text += "\\n";
    } else {
      if (character == "\\" || character == "\"") text += '\\';
      text += character;
    }
    value.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

}  // namespace launch
