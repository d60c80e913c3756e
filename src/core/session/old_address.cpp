#include "launch/core/session/old_address.hpp"

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/session/store_link.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration between_looks = 300ms;  // less than a last call takes: so no round forms there before
constexpr Duration longest_look = 2s;
constexpr Duration longest_quiet = 5min;  // after something that does not understand

// False: it closes the connection when it is told.
Talk<bool> tell_at(Stage& stage, Endpoint at, const OldAddress& old) {
  const Time by = later(stage.moment(), longest_look);
  auto link = co_await knock(stage, std::move(at), by);
  if (!link) co_return true;
  const std::string state = state_key(old.run_id);
  KeyList keys = {std::string(host_key), state, store_name_key(old.job.door.store)};
  const auto there = co_await link->check(std::move(keys), by);
  const bool is_other = there && there->at(0) && there->at(1) && !there->at(2);
  if (!is_other) co_return true;
  Attendance said = visit(Attendance::Wish::tell, old.job.host);
  said.nodes = old.nodes;
  said.common = old.common;
  said.moved = old.job;
  Operation tell = Attend{state, to_json(said)};
  auto heard = co_await link->perform(std::move(tell), by);
  co_return heard || heard.error().code != ErrorCode::closed;
}

}  // namespace

Talk<void> watch_old_address(Stage& stage, OldAddress old) {
  if (old.ports.empty()) old.ports.push_back(old.store.port);
  Duration wait = between_looks;
  for (std::size_t at = 0;; at = (at + 1) % old.ports.size()) {
    auto pause = stage.until(later(stage.moment(), wait));
    co_await pause;
    Endpoint store{old.store.host, old.ports[at]};
    const bool understood = co_await tell_at(stage, std::move(store), old);
    wait = understood ? between_looks : std::min(wait * 2, longest_quiet);
  }
}

}  // namespace launch
