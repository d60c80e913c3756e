#include "launch/app/peer_relay.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/host.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_to_end = 5s;

}  // namespace

PeerRelay::PeerRelay(const asio::any_io_executor& executor, std::vector<int> reset_signals, PeerHandlers handlers)
    : executor_(executor),
      reset_signals_(std::move(reset_signals)),
      handlers_(std::move(handlers)),
      patience_(executor) {}

void PeerRelay::connect(int node, std::vector<std::string> argv, const Environment& env) {
  ProgramLine line{"", std::move(argv), env.lines(), reset_signals_};
  const std::string& program = line.argv.front();
  line.executable = executable_of(program, env.get("PATH").value_or("")).value_or("");
  if (line.executable.empty())
    return end(node, {ExitStatus::Kind::exited, 127}, fmt::format("{} is not on that host's PATH", program));
  ProgramHandlers handlers;
  handlers.on_bytes = [this, node](std::string_view bytes) {
    heard_.insert(node);
    if (!closed_) handlers_.on_bytes(node, std::string(bytes));
  };
  handlers.on_end = [this, node](ExitStatus status, const std::string& errors) { end(node, status, errors); };
  auto started = PipedProgram::start(executor_, line, handlers);
  if (!started) return end(node, {ExitStatus::Kind::exited, 126}, started.error().message);
  peers_[node] = *std::move(started);
  peers_[node]->hold(held_);
}

void PeerRelay::end(int node, ExitStatus status, const std::string& errors) {
  asio::post(executor_, [this, node, status, errors] {
    peers_.erase(node);
    heard_.erase(node);
    handlers_.on_end({node, status, errors});
  });
}

void PeerRelay::feed(int node, std::string bytes) {
  const auto peer = peers_.find(node);
  if (peer == peers_.end()) return;
  if (!bytes.empty()) return peer->second->send(std::move(bytes));
  peer->second->close();
  if (heard_.count(node) == 0) peer->second->kill();  // no launch is there yet to end by itself
}

void PeerRelay::hold(bool held) {
  held_ = held;
  for (const auto& [node, peer] : peers_) peer->hold(held);
}

void PeerRelay::close() {
  closed_ = true;
  hold(false);
  for (const auto& [node, peer] : peers_) peer->close();
  patience_.expires_at(to_steady(later(now(), time_to_end)));
  patience_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    for (const auto& [node, peer] : peers_) peer->kill();
  });
}

}  // namespace launch
