#include "client.hpp"

#include <utility>

namespace launch::sim {

Client::Client(World& world, std::function<void(const Outcome&)> on_outcome, std::function<void()> on_closed)
    : world_(world), on_outcome_(std::move(on_outcome)), on_closed_(std::move(on_closed)) {}

void Client::connect() {
  ++number_;
  buffer_.clear();
  under_way_.reset();
  answer_.reset();
  cancelling_ = closed_ = gone_ = false;
  connection_ = world_.connect(*this);
}

void Client::perform(const Operation& operation, Time deadline) {
  under_way_ = operation;
  std::string bytes;
  encode_operation(operation, bytes);
  world_.request(connection_, std::move(bytes));
  const std::uint64_t mine = ++number_;
  if (closed_) world_.at(world_.now(), [this] { look(); });
  if (!waits(operation) || deadline == never) return;
  when_awake(deadline, [this, mine] {
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
  world_.request(connection_, std::move(bytes));
}

void Client::close() {
  if (!std::exchange(gone_, true)) world_.close(connection_);
}

void Client::part() {
  if (std::exchange(gone_, true)) return;
  world_.part(connection_);
  world_.fall_silent(connection_, last_beat(), never);
}

// ---- what befalls a node

Time Client::last_beat() { return world_.now() - world_.random().between(Duration(0), beat_interval); }

void Client::freeze_until(Time when) {
  frozen_until_ = when;
  world_.fall_silent(connection_, last_beat(), when);
}

Time Client::cut_until(Time when) {
  const Time heard = last_beat();
  world_.cut(connection_, when);
  world_.fall_silent(connection_, heard, when);
  return heard + beat_interval + beat_patience;
}

void Client::when_awake(Time when, std::function<void()> what) {
  world_.at(when, [this, what = std::move(what)]() mutable {
    if (world_.now() < frozen_until_) return when_awake(frozen_until_, std::move(what));
    what();
  });
}

// ---- what the store says

void Client::received(const std::string& bytes) {
  buffer_ += bytes;
  look();
}

void Client::closed() {
  closed_ = true;
  look();
}

void Client::look() {
  if (gone_ || !under_way_) return;
  if (world_.now() < frozen_until_) return world_.at(frozen_until_, [this] { look(); });
  while (true) {
    if (cancelling_ && !buffer_.empty() && buffer_[0] == static_cast<char>(WaitReply::cancelled)) {
      buffer_.erase(0, 1);
      return finish(answer_.value_or(WaitExpired{}));
    }
    std::size_t used = 0;
    auto outcome = decode_outcome(*under_way_, buffer_, used);
    if (!outcome || !outcome->has_value()) break;
    buffer_.erase(0, used);
    if (!cancelling_) return finish(std::move(**outcome));
    answer_ = std::move(**outcome);
  }
  if (!closed_) return;
  gone_ = true;
  on_closed_();
}

void Client::finish(Outcome outcome) {
  under_way_.reset();
  answer_.reset();
  cancelling_ = false;
  ++number_;
  on_outcome_(outcome);
}

}  // namespace launch::sim
