#include "launch/io/store_client.hpp"

#include "launch/core/store/store_wire.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/deadline.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace launch {
namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

// A store that answers at all answers a greeting within this. A silent stranger on the port must not hold us for
// minutes.
constexpr Duration greeting_time = 10s;
constexpr std::size_t beat_bytes = sizeof beat_nonce;

}  // namespace

StoreClient::StoreClient(tcp::socket socket) : socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
}

// If there is no way to a machine, that is not an answer of that machine.
Error StoreClient::lost(const boost::system::error_code& error) {
  silent_ = error == asio::error::timed_out || error == asio::error::host_unreachable ||
            error == asio::error::network_unreachable || error == asio::error::network_down;
  hung_up_ = error == asio::error::eof || (error == asio::error::broken_pipe && has_hung_up());
  return Error{silent_ ? ErrorCode::timeout : ErrorCode::closed,
               fmt::format("the connection to the store ended: {}", error.message())};
}

// What is sent after the end of the other side fails with a broken pipe, or with a reset if there was no such end.
// (Once it has told of the reset, the kernel calls that an end, too.) Not if something that was said before is lost
// now.
bool StoreClient::has_hung_up() {
  char unread = 0;
  boost::system::error_code error;
  return socket_.read_some(asio::buffer(&unread, 1), error) == 0 && error == asio::error::eof;
}

asio::awaitable<Status> StoreClient::send(std::string bytes) {
  auto [error, written] = co_await asio::async_write(socket_, asio::buffer(bytes), as_values);
  if (error) co_return lost(error);
  co_return Status();
}

// Waits only for readiness; the read comes afterwards. A read that is cancelled at the deadline could take bytes with
// it.
asio::awaitable<bool> StoreClient::readable(Time when) {
  if (woken_) co_return false;
  const Deadline deadline(socket_, when);
  listening_ = true;
  auto [error] = co_await socket_.async_wait(tcp::socket::wait_read, as_values);
  listening_ = false;
  if (!error) co_return true;
  if (!deadline.passed() && !woken_) co_return true;
  // If we have slept past the deadline, the answer may be there.
  boost::system::error_code ignored;
  co_return !woken_ && socket_.available(ignored) > 0;
}

asio::awaitable<Status> StoreClient::receive_more(Time deadline) {
  if (!co_await readable(deadline)) co_return Error{ErrorCode::timeout, "the store does not answer"};
  std::array<char, 16 * 1024> chunk;
  boost::system::error_code error;
  const std::size_t length = socket_.read_some(asio::buffer(chunk), error);
  if (error == asio::error::would_block) co_return Status();
  if (error) co_return lost(error);
  received_.append(chunk.data(), length);
  heard_at_ = now();
  co_return Status();
}

asio::awaitable<Status> StoreClient::greet(Time deadline) {
  std::string hello;
  encode(ValidateRequest{validate_magic}, hello);
  encode(PingRequest{greeting_nonce}, hello);
  if (auto sent = co_await send(std::move(hello)); !sent) co_return sent.error();
  while (received_.size() < 4)
    if (auto more = co_await receive_more(deadline); !more) {
      co_return Error{more.error().code,
                      fmt::format("what listens there does not answer as a store ({})", more.error().message)};
    }
  if (read_u32(received_.data()) != greeting_nonce)
    co_return Error{ErrorCode::protocol, "what listens there is not a store"};
  received_.erase(0, 4);
  co_return Status();
}

void StoreClient::set_beats(Duration interval, Duration patience) {
  beats_.set(interval, patience, now());
  patience_ = patience;
  expect_life(socket_, patience * 2);  // the kernel must not be the first to lose it
}

// False while an answer that nobody waits for any more is incomplete.
Result<bool> StoreClient::skip_owed() {
  while (!owed_.empty()) {
    std::size_t used = 0;
    auto outcome = decode_outcome(owed_.front().operation, received_, used, owed_.front().part);
    if (!outcome) return outcome.error();
    if (!outcome->has_value()) return false;
    received_.erase(0, used);
    owed_.pop_front();
  }
  return true;
}

// False while the answer to a beat is incomplete. It comes before the answers to all that was asked later.
bool StoreClient::read_beat(const Operation& under_way) {
  if (!beats_.unanswered() || received_.empty()) return true;
  if (static_cast<unsigned char>(received_[0]) == (held_nonce & 0xFFU)) {
    must_say_read_ = received_.size() >= beat_bytes;
    if (must_say_read_) received_.erase(0, beat_bytes);
    return false;
  }
  if (static_cast<unsigned char>(received_[0]) != (beat_nonce & 0xFFU)) return waits(under_way);
  if (received_.size() < beat_bytes) return false;
  received_.erase(0, beat_bytes);
  beats_.answered();
  return true;
}

asio::awaitable<Status> StoreClient::say_what_was_read() {
  if (!std::exchange(must_say_read_, false)) co_return Status();
  std::string receipt;
  encode(PingRequest{receipt_nonce}, receipt);
  co_return co_await send(std::move(receipt));
}

asio::awaitable<Status> StoreClient::receive_while_beating(Time deadline) {
  beats_.heard();
  while (true) {
    const Time until = beats_.due();
    if (until >= deadline || woken_) co_return co_await receive_more(deadline);
    if (co_await readable(until)) co_return co_await receive_more(now());
    if (woken_) continue;
    const Beats::Act act = beats_.at(now());
    if (act == Beats::Act::silent) {
      silent_ = true;
      co_return Error{ErrorCode::timeout, fmt::format("no answer for {}", to_text(beats_.patience()))};
    }
    if (act == Beats::Act::wait) continue;
    std::string beat;
    encode(PingRequest{beat_nonce}, beat);
    if (auto sent = co_await send(std::move(beat)); !sent) co_return sent;
  }
}

asio::awaitable<Result<Outcome>> StoreClient::receive(const Operation& operation, Time deadline, PartialReply& part) {
  while (true) {
    std::size_t used = 0;
    const auto is_next = skip_owed();
    if (!is_next) co_return is_next.error();
    if (*is_next && read_beat(operation)) {
      auto outcome = decode_outcome(operation, received_, used, part);
      if (!outcome) co_return outcome.error();
      if (outcome->has_value()) {
        received_.erase(0, used);
        co_return std::move(**outcome);
      }
    }
    if (must_say_read_) {
      auto said = co_await say_what_was_read();
      if (!said) co_return said.error();
      continue;
    }
    const bool beats = waiting_ && beats_.on();
    // Named first, because GCC 12 makes two of an object that is made inside a condition.
    auto receiving = beats ? receive_while_beating(deadline) : receive_more(deadline);
    if (auto more = co_await std::move(receiving); !more) co_return more.error();
  }
}

// The answer may already be on its way. Then it comes first, and counts.
asio::awaitable<Result<Outcome>> StoreClient::cancel_wait(const Operation& operation, PartialReply& part) {
  std::string cancel;
  encode(CancelWaitRequest{}, cancel);
  const Time asked = now();
  if (auto sent = co_await send(std::move(cancel)); !sent) co_return sent.error();
  const Time patience = beats_.on() ? beats_.answer_due(now()) : later(now(), patience_);
  Outcome outcome = WaitExpired();
  while (true) {
    const auto is_next = skip_owed();
    if (!is_next) co_return is_next.error();
    if (*is_next && read_beat(operation) && !received_.empty()) {
      if (received_[0] == static_cast<char>(WaitReply::cancelled)) break;
      std::size_t used = 0;
      auto answer = decode_outcome(operation, received_, used, part);
      if (!answer) co_return answer.error();
      if (answer->has_value()) {
        outcome = std::move(**answer);
        received_.erase(0, used);
        continue;
      }
    }
    if (must_say_read_) {
      auto said = co_await say_what_was_read();
      if (!said) co_return said.error();
      continue;
    }
    if (auto more = co_await receive_more(patience); !more) {
      silent_ |= beats_.on() && more.error().code == ErrorCode::timeout;
      co_return more.error();
    }
  }
  received_.erase(0, 1);
  beats_.answered(asked);
  co_return outcome;
}

asio::awaitable<Result<Outcome>> StoreClient::perform(Operation operation, Time deadline) {
  std::string request;
  encode_operation(operation, request);
  waiting_ = waits(operation);
  const Time asked = now();
  if (auto sent = co_await send(std::move(request)); !sent) co_return sent.error();
  PartialReply part;
  auto outcome = co_await receive(operation, deadline, part);
  waiting_ = woken_ = false;
  if (outcome) beats_.answered(asked);
  const bool expired = !outcome && outcome.error().code == ErrorCode::timeout && !silent_;
  if (expired && waits(operation)) co_return co_await cancel_wait(operation, part);
  if (expired) owed_.push_back({std::move(operation), std::move(part)});
  co_return outcome;
}

void StoreClient::wake() {
  if (!waiting_) return;
  woken_ = true;
  boost::system::error_code ignored;
  if (listening_) socket_.cancel(ignored);
}

Endpoint StoreClient::peer() const {
  boost::system::error_code ignored;
  const tcp::endpoint address = socket_.remote_endpoint(ignored);
  return Endpoint{address.address().to_string(), address.port()};
}

std::string StoreClient::own_address() const {
  boost::system::error_code ignored;
  return socket_.local_endpoint(ignored).address().to_string();
}

void StoreClient::part() {
  std::string farewell;
  encode(LeaveWillRequest{}, farewell);
  boost::system::error_code ignored;
  (void)socket_.write_some(asio::buffer(farewell), ignored);
  close();
}

void StoreClient::abandon() {
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void StoreClient::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<Result<StoreClient>> connect_once(Endpoint endpoint, Time deadline) {
  auto socket = co_await connect(endpoint, deadline);
  if (!socket) co_return socket.error();
  StoreClient client(std::move(*socket));
  const Time until = std::min(deadline, later(now(), greeting_time));
  auto greeted = co_await client.greet(until);
  const bool hung_up = !greeted && greeted.error().code == ErrorCode::closed;  // a process was there, not only a way
  if (!greeted)
    co_return Error{hung_up ? ErrorCode::protocol : greeted.error().code,
                    fmt::format("{}: {}", to_text(endpoint), greeted.error().message)};
  co_return client;
}

}  // namespace launch
