#include "world.hpp"

#include <algorithm>
#include <utility>

namespace launch::sim {
using namespace std::chrono_literals;

bool World::chance(double probability) { return static_cast<double>(random_.next() >> 11U) * 0x1p-53 < probability; }

Duration World::delay() { return chance(0.05) ? random_.between(1ms, 80ms) : random_.between(50us, 1ms); }

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

ConnectionId World::connect(std::function<void(const std::string&)> deliver) {
  connections_.push_back(std::move(deliver));
  last_delivery_.push_back(now_);
  last_request_.push_back(now_);
  return static_cast<ConnectionId>(connections_.size() - 1);
}

void World::disconnect(ConnectionId connection) {
  connections_[connection] = nullptr;
  at(now_ + delay(), [this, connection] {
    std::vector<Push> pushes;
    table_.drop(connection, false, pushes);
    for (Push& push : pushes) deliver(push.to, std::move(push.bytes));
  });
}

void World::request(ConnectionId connection, const std::string& bytes) {
  if (now_ >= second_ + 1s) {
    second_ = now_;
    requests_ = 0;
  }
  busiest_ = std::max(busiest_, ++requests_);
  last_request_[connection] = std::max(last_request_[connection], now_ + delay());
  at(last_request_[connection], [this, connection, bytes] {
    if (!connections_[connection]) return;
    std::string all;
    encode(ValidateRequest{validate_magic}, all);
    all += bytes;
    RequestReader reader;
    std::copy(all.begin(), all.end(), reader.prepare(all.size()));
    reader.commit(all.size());
    for (auto request = reader.next(); request && request->has_value(); request = reader.next()) {
      std::string reply;
      std::vector<Push> pushes;
      if (!table_.apply(connection, **request, reply, pushes)) return;
      if (!reply.empty()) deliver(connection, std::move(reply));
      for (Push& push : pushes) deliver(push.to, std::move(push.bytes));
    }
  });
}

void World::deliver(ConnectionId connection, std::string bytes) {
  last_delivery_[connection] = std::max(last_delivery_[connection], now_ + delay());
  at(last_delivery_[connection], [this, connection, bytes = std::move(bytes)] {
    if (connections_[connection]) connections_[connection](bytes);
  });
}

void World::note(std::string_view fact) {
  const std::string line = std::to_string((now_ - Time(1h)) / 1us) + " us: " + std::string(fact);
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  story_.push_back(line);
  if (story_.size() > 400) story_.erase(story_.begin(), story_.begin() + 200);
}

Client::Client(World& world, std::function<void(const Outcome&)> on_outcome)
    : world_(world),
      on_outcome_(std::move(on_outcome)),
      connection_(world.connect([this](const std::string& bytes) { received(bytes); })) {}

void Client::perform(const Operation& operation, Time deadline) {
  under_way_ = operation;
  std::string bytes;
  encode_operation(operation, bytes);
  world_.request(connection_, bytes);
  const std::uint64_t mine = ++number_;
  if (!waits(operation) || deadline == never) return;
  world_.at(deadline, [this, mine] {
    if (mine == number_) cancel();
  });
}

void Client::wake() {
  if (under_way_ && waits(*under_way_)) cancel();
}

void Client::cancel() {
  if (gone_ || cancelling_ || !under_way_) return;
  cancelling_ = true;
  std::string bytes;
  encode(CancelWaitRequest{}, bytes);
  world_.request(connection_, bytes);
}

void Client::drop() {
  gone_ = true;
  world_.disconnect(connection_);
}

// A node that stands still reads nothing; what came is there when it goes on.
void Client::received(const std::string& bytes) {
  if (gone_) return;
  buffer_ += bytes;
  look();
}

void Client::look() {
  if (gone_ || !under_way_) return;
  if (world_.now() < frozen_until_) return world_.at(frozen_until_, [this] { look(); });
  if (cancelling_) {
    const auto end = buffer_.find('\1');
    if (end == std::string::npos) return;
    const bool satisfied = end > 0;
    buffer_.erase(0, end + 1);
    cancelling_ = false;
    under_way_.reset();
    ++number_;
    return on_outcome_(satisfied ? Outcome(Done{}) : Outcome(WaitExpired{}));
  }
  std::size_t used = 0;
  const auto outcome = decode_outcome(*under_way_, buffer_, used);
  if (!outcome || !outcome->has_value()) return;
  buffer_.erase(0, used);
  under_way_.reset();
  ++number_;
  on_outcome_(**outcome);
}

}  // namespace launch::sim
