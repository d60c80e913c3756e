#include "launch/io/metrics_server.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/port_holder.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/ip/tcp.hpp>
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
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_header = std::size_t{8} << 10;
constexpr Duration time_for_request = 10s;
constexpr Duration time_between = 60s;

using Incoming = http::request<http::empty_body>;
using Outgoing = http::response<http::string_body>;

ScrapeRequest read_request(const Incoming& from) {
  ScrapeRequest request{std::string(from.method_string()), std::string(from.target()), {}};
  const auto [first, last] = from.equal_range(http::field::accept);
  for (auto field = first; field != last; ++field) {
    if (!request.accept.empty()) request.accept += ',';
    request.accept += std::string(field->value());
  }
  return request;
}

Outgoing make_reply(ScrapeReply reply, const Incoming& request) {
  Outgoing message(static_cast<http::status>(reply.status), request.version());
  message.keep_alive(request.keep_alive());
  message.set(http::field::content_type, reply.type);
  if (reply.status == 405) message.set(http::field::allow, "GET, HEAD");
  message.content_length(reply.body.size());
  if (request.method() != http::verb::head) message.body() = std::move(reply.body);
  return message;
}

}  // namespace

// What clients need; it lives as long as the last of them.
struct MetricsServer::Shared {
  Handler handler;  // empty: the server has gone
  std::size_t clients = 0;

  static asio::awaitable<void> serve(std::shared_ptr<Shared> shared, tcp::socket socket) {
    boost::beast::flat_buffer buffer(2 * most_header);
    bool goes_on = true;
    while (goes_on) {
      auto exchanging = shared->exchange(socket, buffer);
      goes_on = co_await std::move(exchanging);
      if (!goes_on || buffer.size() > 0) continue;
      const Deadline patience(socket, later(now(), time_between));
      auto waiting = socket.async_wait(tcp::socket::wait_read, as_values);
      const auto [error] = co_await std::move(waiting);
      goes_on = !error;
    }
    --shared->clients;
  }

  // False: the connection ends.
  asio::awaitable<bool> exchange(tcp::socket& socket, boost::beast::flat_buffer& buffer) const {
    const Deadline patience(socket, later(now(), time_for_request));
    http::request_parser<http::empty_body> parser;
    parser.header_limit(most_header);
    auto reading = http::async_read(socket, buffer, parser, as_values);
    const auto [unread, length] = co_await std::move(reading);
    if (unread || !handler) co_return false;
    Outgoing message = make_reply(handler(read_request(parser.get())), parser.get());
    auto writing = http::async_write(socket, message, as_values);
    const auto [unwritten, size] = co_await std::move(writing);
    co_return !unwritten && message.keep_alive();
  }
};

MetricsServer::MetricsServer(asio::any_io_executor executor, Handler handler)
    : executor_(executor), shared_(std::make_shared<Shared>()), listener_(executor, [this](tcp::socket socket) {
        if (shared_->clients >= most_clients) return;
        ++shared_->clients;
        run_in_background(executor_, Shared::serve(shared_, std::move(socket)));
      }) {
  shared_->handler = std::move(handler);
}

MetricsServer::~MetricsServer() { shared_->handler = nullptr; }

Status MetricsServer::listen(const Endpoint& at) {
  const error_code error = listener_.try_to_listen(at.host, at.port, true);
  if (!error) return {};
  const std::string holder = error == asio::error::address_in_use ? find_port_holder(at.port) : "";
  return Error{ErrorCode::system, fmt::format("{}{}", error.message(), holder.empty() ? "" : ", held by " + holder)};
}

}  // namespace launch
