#include "launch/core/events/event_record.hpp"

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

// Writes one object field by field: the library would give a time as many digits as it happens to need.
class EventLine {
 public:
  EventLine& add(std::string_view name, std::string_view text) { return add_json(name, quote(text)); }
  EventLine& add(std::string_view name, std::int64_t number) { return add_json(name, std::to_string(number)); }
  template <class Of>
  EventLine& add(std::string_view name, RankOf<Of> rank) {
    return add_json(name, std::to_string(rank.value));
  }
  EventLine& add(std::string_view name, std::chrono::nanoseconds time) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    return add_json(name, fmt::format("{}.{:06}", micros / 1'000'000, micros % 1'000'000));
  }
  EventLine& add_json(std::string_view name, std::string_view json) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "{" : ",", name, json);
    return *this;
  }
  std::string text() const { return text_ + "}"; }

  static std::string quote(std::string_view text) {
    using OrderedJson = nlohmann::ordered_json;
    return OrderedJson(text).dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  }

 private:
  std::string text_;
};

std::string_view name_of(const JobEvent& event) {
  constexpr std::string_view names[] = {
      "job_started", "rendezvous_formed", "worker_started", "worker_exited", "stopping", "killing", "restart",
      "peer_failed", "job_ended",         "user_asked",     "progress",      "hang",     "startup", "host_moved"};
  static_assert(std::size(names) == std::variant_size_v<JobEvent>);
  return names[event.index()];
}

void add_fields(EventLine& line, const JobStarted& event) {
  std::string words;
  for (const std::string& word : event.command) words += (words.empty() ? "" : ",") + EventLine::quote(word);
  line.add("version", event.version).add("program", event.program).add_json("command", "[" + words + "]");
  line.add("nnodes", event.nnodes).add("nproc_per_node", event.nproc_per_node);
}

void add_fields(EventLine& line, const RendezvousFormed& event) {
  const Assignment& ranks = event.round.assignment;
  line.add("group_rank", ranks.group_rank).add("nodes", ranks.group_world_size).add("world_size", ranks.world_size);
  line.add("base_rank", ranks.base_global_rank).add("restarts", event.round.restarts).add("duration_s", event.took);
}

void add_fields(EventLine& line, const WorkerStarted& event) {
  line.add("rank", event.rank).add("local_rank", event.local_rank).add("pid", event.pid);
}

void add_fields(EventLine& line, const WorkerOver& event) {
  add_fields(line, event.worker);
  if (event.status.kind == ExitStatus::Kind::exited) {
    line.add("exit_code", event.status.value).add_json("signal", "null").add_json("signal_name", "null");
  } else {
    line.add_json("exit_code", "null").add("signal", event.status.value);
    line.add("signal_name", signal_name(event.status.value));
  }
  line.add("after_s", event.lived);
}

void add_fields(EventLine& line, const Stopping& event) {
  line.add("signal", event.signal).add("signal_name", signal_name(event.signal)).add("reason", event.reason);
}

void add_fields(EventLine& line, const Killing& event) { line.add("pids", static_cast<std::int64_t>(event.processes)); }

void add_fields(EventLine& line, const Restarting& event) {
  line.add("reason", event.reason).add("number", event.number);
}

void add_fields(EventLine& line, const PeerFailure& event) { line.add_json("failure", to_json(event.failure)); }

void add_fields(EventLine& line, const JobEnded& event) {
  line.add("exit_code", event.exit_code).add_json("failure", event.first ? to_json(*event.first) : "null");
}

void add_fields(EventLine& line, const Progressed& event) {
  const auto number = [](double value) { return fmt::format("{:.12g}", value); };
  line.add_json("least_step", number(event.sum.least)).add_json("most_step", number(event.sum.most));
  line.add_json("rate", event.sum.rate ? number(*event.sum.rate) : "null");
}

void add_fields(EventLine& line, const Hanging& event) {
  std::string places;
  for (const std::string& place : event.places) places += (places.empty() ? "" : ",") + EventLine::quote(place);
  line.add("quiet_s", event.quiet).add_json("places", "[" + places + "]");
}

void add_fields(EventLine& line, const StartedUp& event) {
  std::string lines;
  for (const std::string& one : event.slowest) lines += (lines.empty() ? "" : ",") + EventLine::quote(one);
  line.add("world_size", event.world_size).add("formed_s", event.formed);
  event.median ? line.add("median_s", *event.median) : line.add_json("median_s", "null");
  line.add_json("slowest", "[" + lines + "]");
}

void add_fields(EventLine& line, const HostChange& event) {
  line.add("from", event.from).add("to", event.to).add("at", event.at).add("term", event.term);
}

void add_fields(EventLine& line, const UserAsked& event) { line.add("what", event.what).add("by", event.by); }

}  // namespace

std::string to_json_line(const EventContext& context, const Instant& when, const JobEvent& event) {
  EventLine line;
  line.add("event", name_of(event)).add("time", when.wall.time_since_epoch());
  line.add("monotonic", when.time.time_since_epoch()).add("run_id", context.run_id);
  context.node_rank ? line.add("node_rank", *context.node_rank) : line.add_json("node_rank", "null");
  line.add("host", context.host).add("restart", context.restart);
  std::visit([&line](const auto& one) { add_fields(line, one); }, event);
  return line.text();
}

}  // namespace launch
