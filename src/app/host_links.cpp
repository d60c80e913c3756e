#include "launch/app/host_links.hpp"

#include "launch/core/hosts/start_line.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/host.hpp"

#include <csignal>
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
  const HostEntry& entry = plan_.hosts[static_cast<std::size_t>(node)];
  // ssh needs all of the environment here, for its agent; a launch of this machine gets what other hosts get.
  const std::vector<std::string> env = is_here(entry, plan_.start) ? plan_.local_env : start_.env.lines();
  ProgramLine line{"", start_line(entry, plan_.start, action.copies), env, start_.reset_signals, start_.open_files};
  const std::string& program = line.argv.front();
  const bool is_path = program.find('/') != std::string::npos;
  line.executable = is_path ? program : find_on_path(program, start_.env.get("PATH").value_or("")).value_or("");
  at(node) = Link();
  if (line.executable.empty())
    return lose(node, {ExitStatus::Kind::exited, 127}, fmt::format("{} is not on this host's PATH", program));
  ProgramHandlers handlers;
  handlers.on_bytes = [this, node](std::string_view bytes) { take(node, bytes); };
  handlers.on_end = [this, node](ExitStatus status, const std::string& errors) { lose(node, status, errors); };
  auto started = PipedProgram::start(executor_, line, handlers);
  if (!started) return lose(node, {ExitStatus::Kind::exited, 126}, started.error().message);
  at(node).program = *std::move(started);
  at(node).program->hold(held_);
  if (action.copies) at(node).program->send_file(plan_.start.self);
  ++connected_;
}

// Later, because it may be within an action.
void HostLinks::lose(int node, ExitStatus status, const std::string& errors) {
  LostConnection lost;
  lost.program = starter_name(plan_.start);
  lost.host = plan_.head.nodes[static_cast<std::size_t>(node)].host;
  lost.status = status;
  lost.errors = errors;
  lost.noise = at(node).reader.noise();
  lost.port = plan_.hosts[static_cast<std::size_t>(node)].port.value_or(22);
  asio::post(executor_, [this, node, lost = std::move(lost)] {
    if (std::exchange(at(node).program, nullptr)) --connected_;
    handlers_.on_lost(node, lost);
    if (connected_ == 0) ended_.cancel();
  });
}

void HostLinks::take(int node, std::string_view bytes) {
  Link& link = at(node);
  if (link.broken) return;
  link.reader.feed(bytes);
  if (!link.greeted && !take_greeting(node)) return;
  for (;;) {
    auto message = link.reader.next();
    if (!message) return break_off(node, message.error().message);
    if (!*message) return;
    handlers_.on_message(node, **std::move(message));
  }
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

void HostLinks::tell(int node, const HostMessage& message) {
  if (const auto& program = at(node).program) program->send(to_frame(message));
}

void HostLinks::leave(int node) {
  if (const auto& program = at(node).program) program->close();
}

void HostLinks::hold(bool held) {
  held_ = held;
  for (Link& link : links_)
    if (link.program) link.program->hold(held);
}

void HostLinks::leave_all() {
  for (Link& link : links_)
    if (link.program) link.program->close();
}

asio::awaitable<void> HostLinks::end(Duration patience) {
  ended_.expires_at(to_steady(later(now(), patience)));
  if (connected_ > 0) (void)co_await ended_.async_wait(as_values);
  for (Link& link : links_)
    if (link.program) link.program->signal(SIGKILL);
}

}  // namespace launch
