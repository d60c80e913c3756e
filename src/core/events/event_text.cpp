#include "launch/core/events/event_text.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/progress/progress_text.hpp"

#include <cstdint>
#include <variant>

#include <fmt/format.h>

namespace launch {
namespace {

std::string name_of(const WorkerStarted& worker) {
  return fmt::format("rank {} (local rank {}), pid {}", worker.rank.value, worker.local_rank.value, worker.pid);
}

std::string sentence(const JobStarted& event) {
  return fmt::format("launch {} starts {}: {}, {} on this node", event.version, event.program,
                     counted(event.nnodes, "node"), counted(event.nproc_per_node, "worker"));
}

std::string sentence(const RendezvousFormed& event) {
  const Assignment& ranks = event.round.assignment;
  return fmt::format("{} joined after {}; this is node {}, its first rank is {} of {}{}",
                     counted(ranks.group_world_size, "node"), to_text(event.took), ranks.group_rank.value,
                     ranks.base_global_rank.value, ranks.world_size,
                     event.round.restarts == 0 ? "" : fmt::format("; restart {}", event.round.restarts));
}

std::string sentence(const WorkerStarted& event) { return name_of(event) + ": started"; }

std::string sentence(const WorkerOver& event) {
  return fmt::format("{}: {} after {}", name_of(event.worker), to_text(event.status), to_text(event.lived));
}

std::string sentence(const Stopping& event) {
  return fmt::format("the workers get {}: {}", signal_name(event.signal), event.reason);
}

std::string sentence(const Killing& event) {
  return fmt::format("{} left, SIGKILL is sent", counted(static_cast<std::int64_t>(event.processes), "process", "es"));
}

std::string sentence(const Restarting& /*event*/) { return {}; }

std::string sentence(const PeerFailure& event) { return "told of a failure: " + describe(event.failure); }

std::string sentence(const UserAsked& event) { return fmt::format("{} asks for {}", event.by, event.what); }

std::string sentence(const JobEnded& event) { return fmt::format("the job has ended, exit code {}", event.exit_code); }

std::string sentence(const Progressed& event) {
  const auto& [least, most, rate] = event.sum;
  const std::string last = step_text(most, rate);
  return least == most ? last : fmt::format("{}; the last worker is at step {}", last, number_text(least));
}

std::string sentence(const StartedUp& event) {
  return fmt::format("all {} of the job have joined, {} after the first exec", counted(event.world_size, "rank"),
                     to_text(event.formed));
}

std::string sentence(const Hanging& /*event*/) { return {}; }  // the warning has said it

std::string sentence(const HostChange& /*event*/) { return {}; }  // a line has said it

}  // namespace

std::string to_text(const JobEvent& event) {
  return std::visit([](const auto& one) { return sentence(one); }, event);
}

}  // namespace launch
