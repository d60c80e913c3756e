#include "launch/io/reach_door.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/deadline.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

namespace launch {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto nudge_after = std::chrono::seconds(1);

// What the door says. It has an end, since one token may begin as another does.
std::string to_words(const std::string& token) { return token + '\n'; }

// The visitor closes first: the port of whoever does is taken for another minute.
asio::awaitable<void> greet(tcp::socket socket, std::string words) {
  const Deadline deadline(socket, later(now(), ReachDoor::longest_try));
  auto saying = asio::async_write(socket, asio::buffer(words), as_values);
  const auto [error, size] = co_await std::move(saying);
  if (error) co_return;
  std::array<char, 16> nothing{};
  auto waiting = asio::async_read(socket, asio::buffer(nothing), as_values);
  (void)co_await std::move(waiting);
}

// Whoever comes with more others than the system lets wait may be told that it is connected though the other side knows
// nothing of it (SYN cookies). It learns of it by the first byte that is sent to it.
class Nudge {
 public:
  Nudge(const asio::any_io_executor& executor, const std::shared_ptr<tcp::socket>& silent)
      : timer_(executor, nudge_after) {
    timer_.async_wait([visitor = std::weak_ptr(silent)](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      const auto socket = visitor.lock();
      if (!error && socket) (void)socket->write_some(asio::buffer("\n", 1), ignored);
    });
  }

 private:
  asio::steady_timer timer_;
};

// All tries of one question.
struct Tries {
  explicit Tries(const asio::any_io_executor& executor) : done(executor) {}
  std::vector<ReachTarget> targets;
  ReachAnswer answer;
  Time until = never;
  std::size_t left = 0;
  asio::steady_timer done;
};

// What is wrong; empty: nothing is.
asio::awaitable<std::string> try_one(Endpoint endpoint, std::string words, Time until) {
  auto resolving = resolve(endpoint, until);
  const auto places = co_await std::move(resolving);
  if (!places) co_return places.error().message;
  const auto executor = co_await asio::this_coro::executor;
  const auto socket = std::make_shared<tcp::socket>(executor);
  const Deadline deadline(*socket, until);
  auto connecting = socket->async_connect(places->front(), as_values);
  const auto [refused] = co_await std::move(connecting);
  if (deadline.passed()) co_return "no answer (a firewall?)";
  if (refused) co_return refused.message();
  if (is_own_peer(*socket)) co_return "another process answers there";
  const Nudge nudge(executor, socket);
  std::string said(words.size(), '\0');
  auto reading = asio::async_read(*socket, asio::buffer(said), as_values);
  const auto [error, size] = co_await std::move(reading);
  co_return said == words && !error ? "" : "another process answers there";
}

asio::awaitable<void> try_for(std::shared_ptr<Tries> tries, std::size_t which) {
  const ReachTarget& target = tries->targets[which];
  auto trying = try_one({target.address, target.port}, to_words(target.token), tries->until);
  tries->answer.faults[which] = co_await std::move(trying);
  if (--tries->left == 0) tries->done.cancel();
}

}  // namespace

ReachDoor::ReachDoor(const asio::any_io_executor& executor, std::string token)
    : executor_(executor), token_(std::move(token)), listener_(executor, [this](tcp::socket socket) {
        run_in_background(executor_, greet(std::move(socket), to_words(token_)));
      }) {}

Status ReachDoor::open(std::uint16_t port) { return listener_.listen("", port, false); }

asio::awaitable<ReachAnswer> try_to_reach(ReachQuestion question, Duration each) {
  const auto executor = co_await asio::this_coro::executor;
  const auto tries = std::make_shared<Tries>(executor);
  for (const std::string& address : question.addresses)
    tries->targets.push_back({address, question.port, question.token});
  tries->targets.insert(tries->targets.end(), question.targets.begin(), question.targets.end());
  const std::size_t count = tries->targets.size();
  tries->answer.faults.resize(count);
  tries->left = count;
  tries->until = later(now(), each);
  for (std::size_t i = 0; i < count; ++i) run_in_background(executor, try_for(tries, i));
  tries->done.expires_at(to_steady(never));
  if (tries->left > 0) (void)co_await tries->done.async_wait(as_values);
  co_return std::move(tries->answer);
}

}  // namespace launch
