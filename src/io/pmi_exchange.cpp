#include "launch/io/pmi_exchange.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/own_reach.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::chrono::milliseconds long_wait{10'000};
constexpr Duration greeting = std::chrono::seconds(5);  // a server answers at once

// The line up to its end, as the server sends one after another only when asked.
class PmiSocket {
 public:
  explicit PmiSocket(const RankQuestion& question) : question_(question), socket_(question.descriptor) {}

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

  const RankQuestion& question_;
  Fd socket_;
  Time deadline_{};
  bool told_ = false;
  std::string held_;
};

}  // namespace

Result<RankAnswer> exchange_by_pmi(const RankQuestion& question) {
  PmiSocket socket(question);
  PmiTalk talk(question.first ? std::optional(own_reach(question.hostname, question.port)) : std::nullopt);
  const Status greeted = socket.exchange(talk, std::min(question.limit, greeting));
  if (!greeted && greeted.error().code == ErrorCode::closed)
    return Error{ErrorCode::closed, "it has closed; has another program of this task used it, which is possible once?"};
  if (!greeted)
    return Error{greeted.error().code, fmt::format("what PMI_FD names does not greet as a PMI server: {}; give "
                                                   "--cluster=none and all options of the job",
                                                   greeted.error().message)};
  while (!talk.done()) {
    const Status done = socket.exchange(talk, question.limit);
    if (!done && done.error().code == ErrorCode::closed) return protocol_error(done.error().message);
    if (!done) return done.error();
  }
  return RankAnswer{talk.id(), host_for(talk.reach()), talk.reach().port, talk.map()};
}

}  // namespace launch
