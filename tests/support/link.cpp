#include "network.hpp"

#include <algorithm>

namespace launch::play {

namespace {

constexpr std::size_t beat_bytes = sizeof beat_nonce;
constexpr Duration to_read = std::chrono::microseconds(1);

}  // namespace

void Link::when_awake(Time when, std::function<void()> what) {
  network_.events().at(when, [self = shared_from_this(), what = std::move(what)]() mutable {
    const Time thaw = self->network_.thaws_at(self->host_);
    if (self->network_.events().now() < thaw) return self->when_awake(thaw, std::move(what));
    what();
  });
}

// What came while its machine was paused is read after the timers that are due then.
void Link::hear(Time when, std::function<void()> what) {
  network_.events().at(when, [self = shared_from_this(), what = std::move(what)]() mutable {
    const Time reads = later(self->network_.thaws_at(self->host_), to_read);
    if (self->network_.events().now() < reads) return self->hear(reads, std::move(what));
    what();
  });
}

void Link::send(std::string bytes) {
  const auto store = store_.lock();
  if (!store || !open_ || network_.is_down(peer_.host)) return;
  last_sent_ = network_.arrival(host_, peer_.host, last_sent_);
  const Time at = std::max(last_sent_, network_.thaws_at(peer_.host));
  if (at > last_sent_) unread_since_ = std::min(unread_since_, last_sent_);
  network_.events().at(at, [self = shared_from_this(), store, bytes = std::move(bytes)] {
    self->unread_since_ = never;
    store->arrive(self->connection_, bytes);
  });
}

// ---- what the process does

void Link::perform(const Operation& operation, Time deadline, OnOutcome on_outcome) {
  const std::uint64_t mine = ++number_;
  asked_ = network_.events().now();
  under_way_ = operation;
  on_outcome_ = std::move(on_outcome);
  answer_.reset();
  cancelling_ = false;
  std::string bytes;
  encode_operation(operation, bytes);
  send(std::move(bytes));
  // Some operations are done as soon as they are sent.
  when_awake(network_.events().now(), [self = shared_from_this(), mine] {
    if (mine == self->number_) self->look();
  });
  const bool waits_for_others = waits(operation);
  beats_.heard();
  arm_beats();
  if (deadline == never) return;
  if (!waits_for_others) return expect_answer(mine, deadline);
  when_awake(deadline, [self = shared_from_this(), mine] {
    if (mine == self->number_) self->cancel();
  });
}

void Link::set_beats(Duration interval, Duration patience) {
  beats_.set(interval, patience, network_.events().now());
  patience_ = patience;
}

void Link::wake() {
  if (under_way_ && waits(*under_way_)) cancel();
}

void Link::part() {
  std::string farewell;
  encode(LeaveWillRequest{}, farewell);
  send(std::move(farewell));
  close();
}

void Link::close() { end(false); }

void Link::abandon() { end(true); }

void Link::end(bool resets) {
  if (!open_) return;
  const auto store = store_.lock();
  if (store && !network_.is_down(peer_.host) && !network_.is_down(host_)) {
    last_sent_ = network_.arrival(host_, peer_.host, last_sent_);
    const Time at = std::max(last_sent_, network_.thaws_at(peer_.host));
    network_.events().at(at, [store, id = connection_, resets] { resets ? store->drop(id, false) : store->close(id); });
  }
  open_ = false;
  network_.events().at(network_.events().now(), [self = shared_from_this()] { self->look(); });
}

// ---- while it waits

// As in io/store_client, it beats only while something is waited for.
void Link::arm_beats() {
  if (!beats_.on() || !under_way_ || !waits(*under_way_) || cancelling_) return;
  const Time due = std::max(beats_.due(), network_.events().now());
  when_awake(due, [self = shared_from_this(), mine = number_, due] { self->beat(mine, due); });
}

void Link::beat(std::uint64_t operation, Time due) {
  if (operation != number_ || !under_way_ || !open_ || cancelling_ || beats_.due() > due) return;
  const Beats::Act act = beats_.at(network_.events().now());
  if (act == Beats::Act::silent) return finish(Error{ErrorCode::silent, "no answer for long"});
  if (act == Beats::Act::beat) {
    std::string bytes;
    encode(PingRequest{beat_nonce}, bytes);
    send(std::move(bytes));
  }
  arm_beats();
}

void Link::expect_answer(std::uint64_t operation, Time until) {
  when_awake(until, [self = shared_from_this(), operation, until] {
    if (operation != self->number_ || !self->under_way_) return;
    // A process that was itself asleep first reads what has come meanwhile.
    const Time now = self->network_.events().now();
    if (now > until) return self->expect_answer(operation, later(now, std::chrono::milliseconds(1)));
    const bool beats = self->beats_.on() && waits(*self->under_way_);
    if (!waits(*self->under_way_)) self->owed_.push_back(*self->under_way_);
    self->finish(Error{beats ? ErrorCode::silent : ErrorCode::timeout, "the store does not answer"});
  });
}

void Link::cancel() {
  if (cancelling_ || !under_way_ || !open_) return;
  cancelling_ = true;
  asked_ = network_.events().now();
  std::string bytes;
  encode(CancelWaitRequest{}, bytes);
  send(std::move(bytes));
  expect_answer(number_, beats_.on() ? beats_.answer_due(asked_) : later(asked_, patience_));
}

// ---- what the store says

void Link::received(const std::string& bytes) {
  if (!open_ || hung_up_) return;
  buffer_ += bytes;
  heard_at_ = network_.events().now();
  beats_.heard();
  look();
  arm_beats();
}

void Link::closed(bool reset) {
  hung_up_ = true;
  was_reset_ = reset;
  look();
}

// What it sends from now on gets nowhere, and nothing arrives.
void Link::reset() {
  store_.reset();
  buffer_.clear();
  closed(true);
}

// False while an answer that nobody waits for any more is incomplete. As in io/store_client.
bool Link::skip_owed() {
  while (!owed_.empty()) {
    std::size_t used = 0;
    const auto outcome = decode_outcome(owed_.front(), buffer_, used);
    if (!outcome || !outcome->has_value()) return false;
    buffer_.erase(0, used);
    owed_.pop_front();
  }
  return true;
}

// False while the answer to a beat is incomplete. It comes before the answers to all that was asked later.
bool Link::read_beat() {
  if (!beats_.unanswered() || buffer_.empty()) return true;
  while (!buffer_.empty() && static_cast<unsigned char>(buffer_[0]) == (held_nonce & 0xFFU)) {
    if (buffer_.size() < beat_bytes) return false;
    buffer_.erase(0, beat_bytes);
    std::string receipt;
    encode(PingRequest{receipt_nonce}, receipt);
    send(std::move(receipt));
  }
  if (buffer_.empty()) return false;
  if (static_cast<unsigned char>(buffer_[0]) != (beat_nonce & 0xFFU)) return waits(*under_way_);
  if (buffer_.size() < beat_bytes) return false;
  buffer_.erase(0, beat_bytes);
  beats_.answered();
  return true;
}

void Link::look() {
  if (!under_way_) return;
  if (!open_) return finish(Error{ErrorCode::closed, "the connection was closed"});
  while (skip_owed() && read_beat()) {
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
  if (hung_up_) finish(Error{ErrorCode::closed, "the connection to the store ended: End of file"});
}

void Link::finish(Result<Outcome> outcome) {
  under_way_.reset();
  answer_.reset();
  cancelling_ = false;
  ++number_;
  if (outcome) beats_.answered(asked_);
  const OnOutcome done = std::move(on_outcome_);
  done(std::move(outcome));
}

}  // namespace launch::play
