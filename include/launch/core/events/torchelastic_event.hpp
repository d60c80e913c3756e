// torchrun's own events, as `--event-log-handler console` prints them: one line of JSON each, formatted as Python does.
//
// Names, order and types are those that torchrun 2.13 was seen to write, including its oddities: the timestamp is
// always 0, "metadata" is JSON within a text, and in it the fields about one worker are lists with one item.
#pragma once

#include "launch/core/job/rank.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace launch {

// The same in all events of a job.
struct TorchelasticContext {
  std::string run_id;
  std::string role;
  std::string hostname;
  std::string backend;      // of the rendezvous: "static", "c10d"
  std::string entry_point;  // the executable without its folder
};

struct TorchelasticWorker {
  GlobalRank global_rank{};
  LocalRank local_rank{};
  int role_rank = 0;
  int role_world_size = 0;
  int pid = 0;
  std::optional<int> failed_with;  // an exit code, above 0, or a signal's number, negated
};

struct TorchelasticEvent {
  std::string_view state;                    // "RENDEZVOUS", "START", ...
  std::optional<TorchelasticWorker> worker;  // the worker that it is about; nullopt: the agent
  std::optional<NodeRank> group_rank;        // before the first rendezvous these two are not known
  std::optional<int> group_world_size;
  int total_run_time = 0;  // seconds; 0 before the end
  std::optional<std::string> raw_error;
  int agent_restarts = 0;
  std::optional<double> duration_ms;
};

std::string torchelastic_line(const TorchelasticContext& context, const TorchelasticEvent& event);

// The raw_error of a worker that failed: its error.json, as Python would write it again. If there is none, a
// substitute; `traits`: the substitute as it is once any worker has failed with an exit code and without an error.json.
std::string torchelastic_raw_error(std::string_view error_json, bool traits);

}  // namespace launch
