#include "world.hpp"

#include <algorithm>
#include <utility>

namespace launch::sim {
using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_story = 1000;
constexpr ConnectionId onlooker = ~ConnectionId{0};

}  // namespace

WallTime World::wall(Duration clock_offset) const {
  return WallTime(std::chrono::duration_cast<WallClock::duration>(now_.time_since_epoch() + clock_offset) +
                  std::chrono::hours(400'000));
}

bool World::chance(double probability) { return static_cast<double>(random_.next() >> 11U) * 0x1p-53 < probability; }

Duration World::delay() { return chance(0.05) ? random_.between(1ms, 80ms) : random_.between(50us, 1ms); }

// ---- events

void World::at(Time when, std::function<void()> what) { heap_.push({std::max(when, now_), plans_++, std::move(what)}); }

void World::run_until(Time end) {
  while (!heap_.empty() && heap_.top().when < end) {
    now_ = heap_.top().when;
    const auto what = std::move(const_cast<Plan&>(heap_.top()).what);  // the order does not depend on it
    heap_.pop();
    what();
  }
  now_ = end;
}

// ---- connections

ConnectionId World::connect(Peer& peer) {
  Connection& connection = connections_.emplace_back();
  connection.peer = &peer;
  const auto id = static_cast<ConnectionId>(connections_.size() - 1);
  std::string hello;
  encode(ValidateRequest{validate_magic}, hello);
  arrive(id, hello);
  return id;
}

void World::request(ConnectionId id, std::string bytes) {
  if (now_ >= second_ + 1s) {
    second_ = now_;
    requests_ = 0;
  }
  busiest_ = std::max(busiest_, ++requests_);
  Connection& connection = connections_[id];
  connection.last_request = std::max(connection.last_request, now_ + delay());
  at(connection.last_request, [this, id, bytes = std::move(bytes)] { arrive(id, bytes); });
}

void World::close(ConnectionId id) {
  Connection& connection = connections_[id];
  connection.peer = nullptr;
  connection.last_request = std::max(connection.last_request, now_ + delay());
  const Time arrival = std::max(connection.last_request, connection.cut_until);
  at(arrival, [this, id] { drop(id, false); });
}

void World::fall_silent(ConnectionId id, Time heard, Time until) {
  const Time noticed = heard + random_.between(silent_at_least, silent_at_most);
  if (!hosted_ || noticed >= until) return;
  at(noticed, [this, id] {
    if (connections_[id].open && store_.is_watched(id)) drop(id, true);
  });
}

void World::arrive(ConnectionId id, const std::string& bytes) {
  Connection& connection = connections_[id];
  if (!connection.open) return;
  if (now_ < connection.cut_until) return at(connection.cut_until, [this, id, bytes] { arrive(id, bytes); });
  RequestReader& reader = connection.reader;
  std::copy(bytes.begin(), bytes.end(), reader.prepare(bytes.size()));
  reader.commit(bytes.size());
  for (auto request = reader.next(); request && request->has_value(); request = reader.next()) serve(id, **request);
}

void World::serve(ConnectionId id, const Request& request) {
  std::string reply;
  std::vector<Push> pushes;
  const Status applied =
      hosted_ ? store_.apply(request, {id, instant(), reply, pushes}) : table_.apply(id, request, reply, pushes);
  if (!applied) {
    note("BAD REQUEST " + applied.error().message);
    return drop(id, false);
  }
  if (!reply.empty()) deliver(id, std::move(reply));
  send(std::move(pushes));
  keep_time();
}

void World::drop(ConnectionId id, bool silent) {
  Connection& connection = connections_[id];
  if (!std::exchange(connection.open, false)) return;
  std::vector<Push> pushes;
  if (hosted_) {
    store_.drop(id, silent, instant(), pushes);
  } else {
    table_.drop(id, silent, pushes);
  }
  send(std::move(pushes));
  keep_time();
  connection.last_delivery = std::max(connection.last_delivery, now_ + delay());
  at(connection.last_delivery, [this, id] { tell_closed(id); });
}

void World::send(std::vector<Push> pushes) {
  for (Push& push : pushes) deliver(push.to, std::move(push.bytes));
}

void World::deliver(ConnectionId id, std::string bytes) {
  if (id == onlooker) return;
  Connection& connection = connections_[id];
  connection.last_delivery = std::max(connection.last_delivery, now_ + delay());
  at(connection.last_delivery, [this, id, bytes = std::move(bytes)] { hand_over(id, bytes); });
}

void World::hand_over(ConnectionId id, const std::string& bytes) {
  const Connection& connection = connections_[id];
  if (now_ < connection.cut_until) return at(connection.cut_until, [this, id, bytes] { hand_over(id, bytes); });
  if (connection.peer != nullptr) connection.peer->received(bytes);
}

void World::tell_closed(ConnectionId id) {
  const Connection& connection = connections_[id];
  if (now_ < connection.cut_until) return at(connection.cut_until, [this, id] { tell_closed(id); });
  if (connection.peer != nullptr) connection.peer->closed();
}

// As io/store_server does: an alarm that is set for earlier rings, too, but in vain.
void World::keep_time() {
  const Time next = store_.deadline();
  if (next >= alarm_) return;
  alarm_ = next;
  at(next, [this, next] {
    if (alarm_ != next) return;
    alarm_ = never;
    std::vector<Push> pushes;
    store_.on_deadline(instant(), pushes);
    send(std::move(pushes));
    keep_time();
  });
}

std::string World::read(const std::string& key) {
  std::string reply;
  std::vector<Push> pushes;
  const Request request = MultiGetRequest{{key}};
  const Status applied = hosted_ ? store_.apply(request, {onlooker, instant(), reply, pushes})
                                 : table_.apply(onlooker, request, reply, pushes);
  return applied && reply.size() > 8 ? reply.substr(8) : std::string();
}

void World::note(std::string_view fact) {
  std::string line = std::to_string((now_ - Time(1h)) / 1us) + " us: " + std::string(fact);
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  story_.push_back(std::move(line));
  if (story_.size() > longest_story) story_.pop_front();
}

}  // namespace launch::sim
