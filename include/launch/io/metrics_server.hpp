// A small HTTP/1.1 server for --metrics: it reads requests and sends what its handler returns. It runs on the loop of
// its owner and decides nothing. A client that sends half a request, too much, or what is no request, is dropped.
//
// Limits: 32 connections, 8 KiB of headers, no body, 10 s for a request and its reply, 60 s between two of them.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/metrics/scrape.hpp"
#include "launch/io/port_listener.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace launch {

class MetricsServer {
 public:
  static constexpr std::size_t most_clients = 32;

  using Handler = std::function<ScrapeReply(const ScrapeRequest&)>;

  // Whoever asks after the end of this object gets no reply.
  MetricsServer(boost::asio::any_io_executor executor, Handler handler);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // `at.host` is an address of this host, or localhost; port 0 takes a free one. The error is the reason alone.
  Status listen(const Endpoint& at);
  std::uint16_t port() const { return listener_.port(); }

 private:
  struct Shared;

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
  PortListener listener_;
};

}  // namespace launch
