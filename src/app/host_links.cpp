#include "launch/app/host_links.hpp"

#include "launch/core/hosts/start_line.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/host.hpp"

#include <utility>

#include <fmt/format.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;

HostLinks::HostLinks(const asio::any_io_executor& executor, const HostsPlan& plan, LinkStart start,
                     LinkHandlers handlers)
    : executor_(executor),
      plan_(plan),
      start_(std::move(start)),
      handlers_(std::move(handlers)),
      links_(plan.hosts.size()),
      ended_(executor) {}

void HostLinks::connect(const ConnectHost& action) {
  const int node = action.node;
  auto argv = start_line(plan_.hosts[static_cast<std::size_t>(node)], plan_.start, action.copies);
  at(node) = Link();
  at(node).starter = action.starter;
  at(node).open = true;
  if (action.starter != started_by_head) return tell(action.starter, StartPeer{node, std::move(argv)});
  if (start_program(action, std::move(argv))) ++awaited_;
}

bool HostLinks::start_program(const ConnectHost& action, std::vector<std::string> argv) {
  const int node = action.node;
  // ssh needs all of the environment here, for its agent; a launch of this machine gets what other hosts get.
  const bool here = is_here(plan_.hosts[static_cast<std::size_t>(node)], plan_.start);
  const std::vector<std::string> env = here ? plan_.local_env : start_.env.lines();
  ProgramLine line{"", std::move(argv), env, start_.reset_signals, start_.open_files};
  const std::string& program = line.argv.front();
  line.executable = executable_of(program, start_.env.get("PATH").value_or("")).value_or("");
  if (line.executable.empty()) {
    lose(node, {ExitStatus::Kind::exited, 127}, fmt::format("{} is not on this host's PATH", program));
    return false;
  }
  ProgramHandlers handlers;
  handlers.on_bytes = [this, node](std::string_view bytes) { take(node, bytes); };
  if (action.copies) handlers.on_taken = [this, node](std::size_t) { handlers_.on_taken(node); };
  handlers.on_end = [this, node](ExitStatus status, const std::string& errors) { lose(node, status, errors); };
  auto started = PipedProgram::start(executor_, line, handlers);
  if (!started) {
    lose(node, {ExitStatus::Kind::exited, 126}, started.error().message);
    return false;
  }
  at(node).program = *std::move(started);
  at(node).program->hold(held_);
  if (action.copies) at(node).program->send_file(plan_.start.self);
  return true;
}

void HostLinks::lose(int node, ExitStatus status, const std::string& errors) {
  LostConnection lost;
  lost.program = starter_name(plan_.start);
  lost.status = status;
  lost.errors = errors;
  lose(node, std::move(lost));
}

// Later, because it may be within an action.
void HostLinks::lose(int node, LostConnection lost) {
  lost.host = host(node);
  lost.greeted = at(node).greeted;
  if (!lost.greeted) lost.noise = at(node).reader.noise();
  lost.port = plan_.hosts[static_cast<std::size_t>(node)].port.value_or(22);
  at(node).open = false;
  asio::post(executor_, [this, node, lost = std::move(lost)] {
    if (std::exchange(at(node).program, nullptr) && !at(node).given_up) --awaited_;
    lose_peers(node);
    handlers_.on_lost(node, lost);
    if (awaited_ == 0) ended_.cancel();
  });
}

// With the connection to a host go those that it has made.
void HostLinks::lose_peers(int starter) {
  LostConnection lost;
  lost.starter = host(starter);
  for (std::size_t node = 0; node < links_.size(); ++node)
    if (links_[node].open && links_[node].starter == starter) lose(static_cast<int>(node), lost);
}

void HostLinks::take(int node, std::string_view bytes) {
  Link& link = at(node);
  if (link.broken) return;
  link.reader.feed(bytes);
  if (!link.greeted && !take_greeting(node)) return;
  handlers_.on_life(node);
  for (;;) {
    auto message = link.reader.next();
    if (!message) return break_off(node, message.error().message);
    if (!*message) return;
    if (!take_for_peer(node, **message)) handlers_.on_message(node, **std::move(message));
  }
}

// False: it is not about a peer.
bool HostLinks::take_for_peer(int node, const HostMessage& message) {
  const auto* bytes = std::get_if<PeerBytes>(&message);
  const auto* end = std::get_if<PeerEnd>(&message);
  if (bytes == nullptr && end == nullptr) return false;
  const int peer = bytes != nullptr ? bytes->node : end->node;
  const bool known = peer < static_cast<int>(links_.size()) && at(peer).open && at(peer).starter == node;
  if (!known) {
    break_off(node, fmt::format("it speaks of node {}, whose connection it does not have", peer));
  } else if (bytes != nullptr) {
    take(peer, bytes->bytes);
  } else {
    lose(peer, end->status, end->errors);
  }
  return true;
}

bool HostLinks::take_greeting(int node) {
  Link& link = at(node);
  const auto greeting = link.reader.greeting();
  if (!greeting) break_off(node, greeting.error().message);
  if (greeting && !*greeting) handlers_.on_noise(node, link.reader.noise());
  if (!greeting || !*greeting) return false;
  link.greeted = true;
  handlers_.on_greeting(node, **greeting);
  return true;
}

void HostLinks::break_off(int node, const std::string& what) {
  at(node).broken = true;
  handlers_.on_nonsense(node, what);
}

void HostLinks::tell(int node, const HostMessage& message) { send(node, to_frame(message)); }

void HostLinks::send(int node, std::string bytes) {
  const Link& link = at(node);
  if (link.program) return link.program->send(std::move(bytes));
  if (link.open && link.starter != started_by_head) tell(link.starter, PeerBytes{node, std::move(bytes)});
}

void HostLinks::leave(int node) {
  const Link& link = at(node);
  if (link.program) return link.program->close();
  if (link.open && link.starter != started_by_head) tell(link.starter, PeerBytes{node, ""});
}

void HostLinks::give_up(int node) {
  leave(node);
  if (at(node).program && !std::exchange(at(node).given_up, true)) --awaited_;
}

void HostLinks::hold(bool held) {
  held_ = held;
  for (Link& link : links_)
    if (link.program) link.program->hold(held);
}

// No launch is there yet to end by itself if none has greeted.
void HostLinks::leave_all() {
  for (Link& link : links_) {
    if (link.program) link.program->close();
    if (link.program && !link.greeted) link.program->kill();  // with all that it has started
  }
}

void HostLinks::kill_all() {
  for (Link& link : links_)
    if (link.program && !link.greeted) link.program->kill();
}

asio::awaitable<void> HostLinks::end(Duration patience) {
  ended_.expires_at(to_steady(later(now(), patience)));
  if (awaited_ > 0) (void)co_await ended_.async_wait(as_values);
  kill_all();
  for (std::size_t node = 0; node < links_.size(); ++node)
    if (links_[node].program && is_client(plan_.hosts[node], plan_.start)) links_[node].program->kill();
}

}  // namespace launch
