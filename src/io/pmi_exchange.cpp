#include "launch/io/pmi_exchange.hpp"

#include "launch/core/cluster/start_values.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
namespace {

using Address = asio::ip::address;

constexpr std::chrono::milliseconds long_wait{10'000};
constexpr Duration greeting = std::chrono::seconds(5);  // a server answers at once

std::optional<Address> address_of(const sockaddr* raw) {
  if (raw == nullptr || (raw->sa_family != AF_INET && raw->sa_family != AF_INET6)) return std::nullopt;
  asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), raw, raw->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return endpoint.address();
}

// Whether the first bits of both are equal as far as the mask has ones.
template <class Bytes>
bool agree(const Bytes& one, const Bytes& other, const Bytes& mask) {
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (((one[i] ^ other[i]) & mask[i]) != 0) return false;
  return true;
}

bool in_network(const Address& address, const Address& own, const Address& mask) {
  if (address.is_v4() != own.is_v4() || mask.is_v4() != own.is_v4()) return false;
  if (own.is_v4()) return agree(address.to_v4().to_bytes(), own.to_v4().to_bytes(), mask.to_v4().to_bytes());
  return agree(address.to_v6().to_bytes(), own.to_v6().to_bytes(), mask.to_v6().to_bytes());
}

// Addresses that other hosts may reach: none of the loopback, and none that needs the name of an interface.
bool is_for_others(const Address& address) {
  return !address.is_loopback() && !(address.is_v6() && address.to_v6().is_link_local());
}

struct Interface {
  Address address, mask;
};

std::vector<Interface> interfaces() {
  std::vector<Interface> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    const auto address = address_of(at->ifa_addr);
    const auto mask = address_of(at->ifa_netmask);
    const bool is_up = (at->ifa_flags & IFF_UP) != 0;
    if (address && mask && is_up && is_for_others(*address)) all.push_back({*address, *mask});
  }
  ::freeifaddrs(first);
  return all;
}

// What the name leads to on this host; nothing if it is not known.
std::vector<std::string> look_up(const std::string& name) {
  asio::io_context context(1);
  asio::ip::tcp::resolver resolver(context);
  boost::system::error_code error;
  std::vector<std::string> addresses;
  for (const auto& found : resolver.resolve(name, "", error))
    addresses.push_back(found.endpoint().address().to_string());
  return addresses;
}

OwnNetworks networks_for(const Reach& reach) {
  OwnNetworks own;
  const auto all = interfaces();
  for (const Interface& one : all) own.addresses.push_back(one.address.to_string());
  own.name_leads_to = look_up(reach.hostname);
  for (const std::string& text : reach.addresses) {
    boost::system::error_code error;
    const Address address = asio::ip::make_address(text, error);
    const auto is_near = [&](const Interface& one) { return in_network(address, one.address, one.mask); };
    if (!error && std::any_of(all.begin(), all.end(), is_near)) own.near.push_back(text);
  }
  return own;
}

bool is_free(std::uint16_t port) {
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context);
  boost::system::error_code error;
  acceptor.open(asio::ip::tcp::v4(), error);
  if (!error) acceptor.bind({asio::ip::tcp::v4(), port}, error);
  return !error;
}

std::uint16_t free_port() {
  const auto begin =
      static_cast<std::uint16_t>(::getpid() * 31 % own_port_count);  // several launches of a host begin apart
  for (std::uint16_t i = 0; i < own_port_count; ++i) {
    const auto port = static_cast<std::uint16_t>(first_own_port + (begin + i) % own_port_count);
    if (is_free(port)) return port;
  }
  return first_own_port;  // that it is busy will be said when it is listened on
}

Reach own_reach(const PmiQuestion& question) {
  Reach reach{question.hostname, {}, question.port == 0 ? free_port() : question.port};
  for (const Interface& one : interfaces()) reach.addresses.push_back(one.address.to_string());
  return reach;
}

// The line up to its end, as the server sends one after another only when asked.
class PmiSocket {
 public:
  explicit PmiSocket(const PmiQuestion& question) : question_(question), socket_(question.descriptor) {}

  Status send(const std::string& line) {
    for (std::size_t sent = 0; sent < line.size();) {
      if (Status ready = wait(POLLOUT); !ready) return ready;
      const ssize_t size = ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno != EAGAIN && errno != EINTR) return failure(errno);
      if (size > 0) sent += static_cast<std::size_t>(size);
    }
    return {};
  }

  Result<std::string> receive() {
    for (;;) {
      if (const auto end = held_.find('\n'); end != std::string::npos) {
        std::string line = held_.substr(0, end);
        held_.erase(0, end + 1);
        return line;
      }
      if (held_.size() > PmiTalk::longest_line) return protocol_error("the PMI server sends a line without an end");
      if (Status ready = wait(POLLIN); !ready) return ready.error();
      std::array<char, 4096> bytes{};
      const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (size == 0) return Error{ErrorCode::closed, "the PMI server has closed the connection"};
      if (size < 0 && errno != EAGAIN && errno != EINTR) return failure(errno);
      if (size > 0) held_.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }

  // One question, and its answer.
  Status exchange(PmiTalk& talk, Duration limit) {
    deadline_ = later(now(), limit);
    if (Status sent = send(talk.next()); !sent) return sent;
    const auto line = receive();
    return line ? talk.take(*line) : line.error();
  }

 private:
  static Error failure(int reason) {
    const bool gone = reason == EPIPE || reason == ECONNRESET;
    return {gone ? ErrorCode::closed : ErrorCode::system,
            fmt::format("cannot speak to the PMI server: {}", std::strerror(reason))};
  }

  Status wait(short events) {
    pollfd one{socket_.get(), events, 0};
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - now()).count();
      const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, long_wait.count())));
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return failure(errno);
      if (ready == 0 && !told_ && question_.on_wait) {
        told_ = true;
        question_.on_wait();
      }
      if (left <= 0)
        return Error{
            ErrorCode::timeout,
            "not all ranks have come to the PMI server in time; is each of them a launch with the same options?"};
    }
  }

  const PmiQuestion& question_;
  Fd socket_;
  Time deadline_{};
  bool told_ = false;
  std::string held_;
};

}  // namespace

Result<std::optional<PmiAnswer>> exchange_by_pmi(const PmiQuestion& question) {
  PmiSocket socket(question);
  PmiTalk talk(question.first ? std::optional(own_reach(question)) : std::nullopt);
  const Status greeted = socket.exchange(talk, std::min(question.limit, greeting));
  if (!greeted && greeted.error().code == ErrorCode::closed) return std::nullopt;
  if (!greeted)
    return Error{greeted.error().code, fmt::format("what PMI_FD names does not greet as a PMI server: {}; give "
                                                   "--cluster=none and all options of the job",
                                                   greeted.error().message)};
  while (!talk.done())
    if (Status done = socket.exchange(talk, question.limit); !done) return done.error();
  return PmiAnswer{talk.id(), choose_host(talk.reach(), networks_for(talk.reach())), talk.reach().port, talk.map()};
}

}  // namespace launch
