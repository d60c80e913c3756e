#include "launch/core/session/port_row.hpp"

#include "launch/core/base/backoff.hpp"
#include "launch/core/session/dialogs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

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
  const Time limit = std::min(search.deadline, later(stage.moment(), look.limit));
  auto link = co_await knock(stage, std::move(look.endpoint), limit);
  if (!link) co_return link.error();
  const Time deadline = std::min(search.deadline, later(stage.moment(), for_claim));
  auto claim = co_await await_claim(*link, search.run_id, NodeRank(0), deadline);
  if (!claim) co_return Error{ErrorCode::conflict, "another job's store is at " + to_text(link->peer())};
  co_return *std::move(link);
}

// Which port is looked at next: every other time the first that has not been seen to be another job's, where node 0 is
// in all likelihood; between them each of the others, since node 0 may have come earlier or later than that job.
class PortRound {
 public:
  explicit PortRound(std::size_t size) : foreign_(size) {}

  std::size_t next() {
    const auto own = std::find(foreign_.begin(), foreign_.end(), false);
    const auto first = own == foreign_.end() ? 0 : static_cast<std::size_t>(own - foreign_.begin());
    is_other_ = !is_other_ && foreign_.size() > 1;
    if (!is_other_) return first;
    for (;;) {
      other_ = (other_ + 1) % foreign_.size();
      if (other_ != first) return other_;
    }
  }
  void saw(std::size_t at, bool foreign) { foreign_[at] = foreign; }
  // The first port was looked at before, and so was another one.
  bool is_complete() const { return is_other_ || foreign_.size() == 1; }

 private:
  std::vector<bool> foreign_;
  bool is_other_ = true;
  std::size_t other_ = 0;
};

}  // namespace

Talk<Listening> listen_in_row(Stage& stage, Endpoint& store, std::vector<std::uint16_t> row) {
  if (row.empty()) row.push_back(store.port);
  Listening opened;
  for (const std::uint16_t port : row) {
    Endpoint at{store.host, port};
    Question question = Listen{OwnStore::job, std::move(at)};
    auto listening = stage.ask<Listening>(std::move(question));
    opened = co_await listening;
    if (!opened.status) continue;
    store.port = opened.port;
    break;
  }
  co_return opened;
}

Talk<Result<StoreLink>> find_in_row(Stage& stage, Endpoint& store, std::vector<std::uint16_t> row, RowSearch search) {
  Backoff backoff(10ms, 500ms, stage.random());
  Duration limit = shortest_try;
  Error reason{ErrorCode::timeout, ""};
  PortRound round(row.size());
  for (;;) {
    const std::size_t at = round.next();
    const std::uint16_t port = row[at];
    const Time began = stage.moment();
    Look look{{store.host, port}, limit};
    auto found = co_await look_at(stage, std::move(look), search);
    if (found) {
      store.port = port;
      co_return std::move(found);
    }
    if (stage.moment() >= later(began, limit)) limit = std::min(2 * limit, longest_try);
    round.saw(at, found.error().code == ErrorCode::conflict);
    if (at == 0) reason.message = found.error().message;
    const bool over = stage.moment() >= search.deadline;
    if (over) co_return reason;
    search.on_retry(reason);
    if (!round.is_complete()) continue;
    auto pause = stage.until(std::min(later(stage.moment(), backoff.next()), search.deadline));
    co_await pause;
  }
}

}  // namespace launch
