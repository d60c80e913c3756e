#include "launch/core/session/port_row.hpp"

#include "launch/core/base/backoff.hpp"
#include "launch/core/session/dialogs.hpp"

#include <algorithm>
#include <utility>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration shortest_try = 1s;  // to look the name up, to connect and to greet
constexpr Duration longest_try = 10s;
constexpr Duration for_claim = 1s;

struct Look {
  Endpoint endpoint;
  Duration limit{};
};

// The connection, if node 0 of this job is there. An error: why not.
Talk<Result<StoreLink>> look_at(Stage& stage, Look look, const RowSearch& search) {
  const LinkId id = stage.new_link();
  Question question =
      OpenLink{id, std::move(look.endpoint), std::min(search.deadline, later(stage.moment(), look.limit))};
  auto opening = stage.ask<Opened>(std::move(question));
  const Opened opened = co_await opening;
  if (!opened.status) co_return opened.status.error();
  StoreLink link(stage, id, opened);
  const Time deadline = std::min(search.deadline, later(stage.moment(), for_claim));
  auto claim = co_await await_claim(link, search.run_id, NodeRank(0), deadline);
  if (!claim) co_return Error{claim.error().code, "another job's store is at " + to_text(link.peer())};
  co_return std::move(link);
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

Talk<Result<StoreLink>> find_in_row(Stage& stage, StaticChoice& nodes, RowSearch search) {
  Backoff backoff(10ms, 500ms, stage.random());
  Duration limit = shortest_try;
  Error reason{ErrorCode::timeout, ""};
  for (std::size_t turn = 0;; ++turn) {
    // 0, 1, 0, 2, 0, 3, ...
    const std::size_t other = nodes.ports.size() < 2 ? 0 : 1 + turn / 2 % (nodes.ports.size() - 1);
    const std::uint16_t port = nodes.ports[turn % 2 == 0 ? 0 : other];
    const Time began = stage.moment();
    Look look{{nodes.store.host, port}, limit};
    auto found = co_await look_at(stage, std::move(look), search);
    if (found) {
      nodes.store.port = port;
      co_return std::move(found);
    }
    if (stage.moment() >= later(began, limit)) limit = std::min(2 * limit, longest_try);
    if (turn % 2 == 0) reason.message = found.error().message;
    const bool over = stage.moment() >= search.deadline;
    if (over) co_return reason;
    search.on_retry(reason);
    if (turn % 2 == 0) continue;
    auto pause = stage.until(std::min(later(stage.moment(), backoff.next()), search.deadline));
    co_await pause;
  }
}

}  // namespace launch
