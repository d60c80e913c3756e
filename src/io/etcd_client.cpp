#include "launch/io/etcd_client.hpp"

#include "launch/core/store/keys.hpp"
#include "launch/core/store/store_wire.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace launch {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr Duration etcd_answers = 60s;  // torchrun's read_timeout
constexpr Duration etcd_greets = 10s;   // a silent stranger must not hold us for longer
constexpr std::size_t largest_answer = 2 * max_payload_bytes;

http::verb verb_of(EtcdRequest::Method method) {
  switch (method) {
    case EtcdRequest::Method::get:
      return http::verb::get;
    case EtcdRequest::Method::put:
      return http::verb::put;
    case EtcdRequest::Method::remove:
      break;
  }
  return http::verb::delete_;
}

http::request<http::string_body> message_of(const EtcdRequest& request, const Endpoint& at) {
  http::request<http::string_body> message(verb_of(request.method), request.target, 11);
  message.set(http::field::host, to_text(Endpoint{at.host, at.port}));
  message.set(http::field::accept, "application/json");
  if (!request.body.empty()) message.set(http::field::content_type, "application/x-www-form-urlencoded");
  message.body() = request.body;
  message.prepare_payload();
  return message;
}

Error link_closed() { return {ErrorCode::closed, "the connection was closed"}; }

}  // namespace

EtcdClient::EtcdClient(tcp::socket socket, Endpoint at, std::string run_id)
    : socket_(std::move(socket)), timer_(socket_.get_executor()), at_(std::move(at)), run_id_(std::move(run_id)) {
  boost::system::error_code ignored;
  own_address_ = socket_.local_endpoint(ignored).address().to_string();
}

asio::awaitable<Result<Outcome>> EtcdClient::perform(Operation operation, Time deadline) {
  waiting_ = waits(operation);
  EtcdOperation steps(std::move(operation), EtcdLayout(run_id_, at_.folder));
  EtcdStep step = steps.start();
  while (!std::holds_alternative<Outcome>(step) && !std::holds_alternative<Error>(step))
    step = co_await carry_out(steps, std::move(step), deadline);
  waiting_ = woken_ = false;
  if (auto* const outcome = std::get_if<Outcome>(&step)) co_return std::move(*outcome);
  co_return std::get<Error>(std::move(step));
}

asio::awaitable<EtcdStep> EtcdClient::carry_out(EtcdOperation& operation, EtcdStep step, Time deadline) {
  if (closed_) co_return link_closed();
  if (std::holds_alternative<EtcdRest>(step)) {
    co_await rest(deadline);
    co_return operation.expire();
  }
  if (const auto* const pause = std::get_if<EtcdPause>(&step)) {
    const Time over = later(now(), pause->length);
    while (!closed_ && now() < over) {  // wake() does not end it
      timer_.expires_at(to_steady(over));
      (void)co_await timer_.async_wait(as_values);
    }
    co_return operation.resume();
  }
  co_return co_await ask(operation, std::get<EtcdRequest>(std::move(step)), deadline);
}

asio::awaitable<EtcdStep> EtcdClient::ask(EtcdOperation& operation, EtcdRequest request, Time deadline) {
  sent_ = std::move(request);
  if (sent_.watches && woken_) co_return operation.expire();
  const Time answered = waiting_ ? later(now(), patience_) : std::min(deadline, later(now(), etcd_answers));
  auto answer = co_await exchange(sent_, sent_.watches ? deadline : answered);
  if (closed_) co_return link_closed();
  if (answer) {
    EtcdStep next = operation.on(*answer);
    if (auto* const error = std::get_if<Error>(&next))
      error->message = fmt::format("the etcd at {} {}", to_text(at_), error->message);
    co_return next;
  }
  if (sent_.watches && answer.error().code == ErrorCode::timeout) co_return operation.expire();
  co_return answer.error();
}

// An etcd may have closed a connection on which nothing was asked for long.
asio::awaitable<Result<EtcdAnswer>> EtcdClient::exchange(const EtcdRequest& request, Time deadline) {
  if (!request.may_repeat) drop_connection();
  const bool used_before = socket_.is_open();
  if (!used_before) {
    auto connected = co_await connect_again(deadline);
    if (!connected) co_return connected.error();
  }
  auto answer = co_await exchange_once(request, deadline);
  if (answer || closed_) co_return answer;
  if (answer.error().code == ErrorCode::timeout) co_return answer;
  // etcd ends a watch so when it stops; the next request will show it.
  if (request.watches) co_return EtcdAnswer{200, ""};
  if (!used_before) co_return answer;
  auto connected = co_await connect_again(deadline);
  if (!connected) co_return connected.error();
  co_return co_await exchange_once(request, deadline);
}

asio::awaitable<Result<EtcdAnswer>> EtcdClient::exchange_once(const EtcdRequest& request, Time deadline) {
  auto message = message_of(request, at_);
  http::response_parser<http::string_body> parser;
  parser.body_limit(largest_answer);
  boost::beast::flat_buffer buffer;
  const Deadline guard(socket_, deadline);
  auto [unsent, written] = co_await http::async_write(socket_, message, as_values);
  boost::system::error_code error = unsent;
  // The deadline may have come when nothing was under way that it could cancel.
  if (!error && !guard.passed() && !(request.watches && woken_)) {
    auto [unread, length] = co_await http::async_read(socket_, buffer, parser, as_values);
    error = unread;
  }
  const bool given_up = guard.passed() || (request.watches && woken_);
  if (error || given_up) drop_connection();
  if (given_up) co_return Error{ErrorCode::timeout, fmt::format("the etcd at {} does not answer", to_text(at_))};
  if (error)
    co_return Error{ErrorCode::closed,
                    fmt::format("the connection to the etcd at {} ended: {}", to_text(at_), error.message())};
  if (!parser.get().keep_alive()) drop_connection();
  co_return EtcdAnswer{parser.get().result_int(), std::move(parser.get().body())};
}

asio::awaitable<Status> EtcdClient::connect_again(Time deadline) {
  const Time until = std::min(deadline, later(now(), std::max(patience_, etcd_greets)));
  auto socket = co_await connect(at_, until);
  if (!socket && socket.error().code == ErrorCode::no_listener)
    co_return Error{ErrorCode::closed, socket.error().message};
  if (!socket) co_return socket.error();
  if (closed_) co_return link_closed();
  socket_ = std::move(*socket);
  co_return Status();
}

asio::awaitable<void> EtcdClient::rest(Time until) {
  if (woken_) co_return;
  timer_.expires_at(to_steady(until));
  (void)co_await timer_.async_wait(as_values);
}

void EtcdClient::wake() {
  if (!waiting_) return;
  woken_ = true;
  timer_.cancel();
  boost::system::error_code ignored;
  if (sent_.watches) socket_.cancel(ignored);
}

void EtcdClient::drop_connection() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void EtcdClient::close() {
  closed_ = true;
  timer_.cancel();
  drop_connection();
}

asio::awaitable<Result<EtcdClient>> connect_to_etcd(Endpoint endpoint, std::string run_id, Time deadline) {
  auto socket = co_await connect(endpoint, deadline);
  if (!socket) co_return socket.error();
  EtcdClient client(std::move(*socket), std::move(endpoint), std::move(run_id));
  const Time until = std::min(deadline, later(now(), etcd_greets));
  Operation look = CheckKeys{{std::string(folder_key)}};
  auto greeted = co_await client.perform(std::move(look), until);
  if (!greeted) co_return greeted.error();
  if (std::get<Presence>(*greeted).present.at(0)) co_return std::move(client);
  Operation set = SetKeys{{{std::string(folder_key), "1"}}};
  auto made = co_await client.perform(std::move(set), until);
  if (!made) co_return made.error();
  co_return std::move(client);
}

}  // namespace launch
