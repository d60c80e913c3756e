#include "launch/core/session/master_doubt.hpp"

#include <chrono>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration usual_start = 2s;  // within which nodes that are started together meet
constexpr Duration one_look_up = 5s;

}  // namespace

Talk<void> doubt_master(Stage& stage, MasterDoubt doubt, std::function<bool()> met) {
  auto pause = stage.until(later(stage.moment(), usual_start));
  co_await pause;
  if (met()) co_return;
  Question locate = LocateHost{doubt.store.host, doubt.own_name, later(stage.moment(), one_look_up)};
  auto locating = stage.ask<Whereabouts>(std::move(locate));
  const Whereabouts found = co_await locating;
  const auto why = why_doubt(doubt, found);
  if (why && !met()) stage.say(Say::Level::warning, *why);
}

std::optional<std::string> why_doubt(const MasterDoubt& doubt, const Whereabouts& found) {
  const bool hosts = doubt.node_rank == NodeRank(0);
  if (hosts && found.elsewhere && !found.here)
    return fmt::format(
        "the master address {} (--master-addr) is another machine's, though this is node 0, and does not lead here: "
        "the other nodes will not find it; waiting all the same",
        doubt.store.host);
  if (!hosts && found.here && !found.elsewhere)
    return fmt::format(
        "the master address {} (--master-addr) is this machine, where node 0 does not answer (this is node {}): if "
        "node 0 is on another machine, name that one; waiting all the same",
        doubt.store.host, doubt.node_rank.value);
  return std::nullopt;
}

}  // namespace launch
