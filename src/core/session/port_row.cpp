#include "launch/core/session/port_row.hpp"

#include "launch/core/base/backoff.hpp"
#include "launch/core/session/dialogs.hpp"

#include <algorithm>
#include <utility>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration one_port = 1s;  // to connect, and again to see the claim

// Whether node 0 of this job is there. An error: why not.
Talk<Status> look_at(Stage& stage, Endpoint endpoint, const RowSearch& search) {
  const LinkId id = stage.new_link();
  Question question = OpenLink{id, std::move(endpoint), std::min(search.deadline, later(stage.moment(), one_port))};
  auto opening = stage.ask<Opened>(std::move(question));
  const Opened opened = co_await opening;
  if (!opened.status) co_return opened.status.error();
  StoreLink link(stage, id, opened);
  const Time deadline = std::min(search.deadline, later(stage.moment(), one_port));
  auto claim = co_await await_claim(link, search.run_id, NodeRank(0), deadline);
  if (!claim) co_return Error{claim.error().code, "another job's store is at " + to_text(link.peer())};
  co_return Status();
}

}  // namespace

Talk<Listening> listen_in_row(Stage& stage, StaticChoice& nodes) {
  std::vector<std::uint16_t> ports = nodes.ports;
  if (ports.empty()) ports.push_back(nodes.store.port);
  Listening opened;
  for (const std::uint16_t port : ports) {
    Endpoint at{nodes.store.host, port};
    Question question = Listen{OwnStore::job, std::move(at)};
    auto listening = stage.ask<Listening>(std::move(question));
    opened = co_await listening;
    if (!opened.status) continue;
    nodes.store.port = opened.port;
    break;
  }
  co_return opened;
}

Talk<Status> find_in_row(Stage& stage, StaticChoice& nodes, RowSearch search) {
  Backoff backoff(10ms, 1s, stage.random());
  while (!nodes.ports.empty()) {
    Error reason{ErrorCode::timeout, ""};
    for (const std::uint16_t port : nodes.ports) {
      Endpoint endpoint{nodes.store.host, port};
      auto looked = co_await look_at(stage, std::move(endpoint), search);
      if (looked) {
        nodes.store.port = port;
        co_return Status();
      }
      if (port == nodes.ports.front()) reason.message = looked.error().message;
    }
    const Time next = later(stage.moment(), backoff.next());
    const bool over = next >= search.deadline;
    if (!over) search.on_retry(reason);
    auto pause = stage.until(std::min(next, search.deadline));  // the user was told when this gives up
    co_await pause;
    if (over) co_return reason;
  }
  co_return Status();
}

}  // namespace launch
