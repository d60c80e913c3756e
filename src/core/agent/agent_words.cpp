#include "launch/core/agent/agent_words.hpp"

#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace launch {

namespace {

constexpr std::string_view after_hook_words = "the command of --after-workers";

}  // namespace

std::string stop_words(const SignalMoment& moment, Duration short_grace) {
  const std::string received =
      fmt::format("received {}{}{}", signal_name(moment.signal), moment.sender.empty() ? "" : " ", moment.sender);
  if (moment.signal == SIGINT && moment.stopping) {
    if (moment.hurried) return fmt::format("{}: killing {}", received, moment.hook ? after_hook_words : "the workers");
    if (moment.hook) return fmt::format("{}: {} gets {} at most", received, after_hook_words, to_text(short_grace));
    return fmt::format("{}: the workers get {} at most", received, to_text(short_grace));
  }
  if (moment.hook && moment.signal != SIGINT) return fmt::format("{}: {} goes on", received, after_hook_words);
  if (moment.hook)
    return fmt::format("{}: {} goes on (again: it gets {} at most; a third time: it is killed)", received,
                       after_hook_words, to_text(short_grace));
  if (moment.signal != SIGINT || !moment.workers) return received + ", stopping";
  return fmt::format("{}, stopping (again: the workers get {} at most; a third time: they are killed)", received,
                     to_text(short_grace));
}

Failure failure_of_stop(FailurePlace where, const SignalReceived& event, bool may_leave) {
  if (event.lost && !may_leave)
    return failure_of_lost_node(std::move(where), "launch --hosts has lost its connection to this host");
  Failure failure = failure_of_signal(std::move(where), 128 + event.signal,
                                      fmt::format("launch was told to stop by {}{}", signal_name(event.signal),
                                                  event.sender.empty() ? "" : " " + event.sender));
  failure.of_all = event.of_all;
  return failure;
}

Failure failure_of_kill(FailurePlace where, bool lost) {
  if (lost) return failure_of_lost_node(std::move(where), "its launch process was killed");
  return failure_of_signal(std::move(where), 128 + SIGKILL, "launch was killed");
}

std::string lost_store_words(const StoreLost& event, bool static_job) {
  if (event.stood_still > Duration::zero())
    return fmt::format("this launch was frozen for {}, and the other nodes went on without it ({})",
                       to_text(event.stood_still), event.reason);
  return fmt::format("lost contact with {} ({}); the workers cannot go on without it",
                     static_job ? "the store of node 0" : "the job's store", event.reason);
}

std::optional<std::string> needed_words(bool elastic, bool may_leave, bool may_change) {
  if (!elastic) return "the others cannot go on without a node: that needs c10d and --nnodes=MIN:MAX";
  if (!may_leave) return "this node hosts the job's store, which the others need";
  if (!may_change) return "--max-membership-restarts is used up: the job would end";
  return std::nullopt;
}

}  // namespace launch
