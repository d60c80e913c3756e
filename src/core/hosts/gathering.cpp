#include "launch/core/hosts/gathering.hpp"

#include "launch/core/base/text.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_delay = 500ms;  // before a login that was busy is tried again
constexpr int most_tries = 6;
constexpr Duration time_to_end = 5s;  // for a connection that another host was to make

}  // namespace

Gathering::Gathering(HostTable& table, std::uint64_t seed) : table_(table), random_(seed) {
  for (int node = 0; node < table_.size(); ++node) queue(node);
}

// Its connection is to be made.
void Gathering::queue(int node) { queues_[table_.at(node).starter].push_back(node); }

bool Gathering::done() const { return table_.count(State::ready) + table_.count(State::ended) == table_.size(); }

// Its starter has too much to do, or is not there yet.
bool Gathering::is_held_up(const HeadHost& host) const {
  if (host.state != State::waiting || host.connected) return false;
  return table_.connecting(host.starter) >= table_.plan().fanout || !may_start(host.starter);
}

// It has greeted, and will not leave as long as it has peers.
bool Gathering::may_start(int starter) const {
  if (starter == started_by_head) return true;
  const HeadHost& host = table_.at(starter);
  return host.connected && (host.state == State::asked || host.state == State::ready);
}

// It will never be there.
bool Gathering::is_lost(int starter) const {
  if (starter == started_by_head) return false;
  const State state = table_.at(starter).state;
  return state == State::ended || state == State::lost;
}

void Gathering::connect_more(Time now) {
  auto& of_head = queues_[started_by_head];
  for (auto& [starter, queue] : queues_) {
    if (is_lost(starter)) {
      for (const int node : queue) table_.at(node).starter = started_by_head;
      of_head.insert(of_head.end(), queue.begin(), queue.end());
      queue.clear();
    }
    if (starter != started_by_head) connect_queue(queue, now);
  }
  connect_queue(of_head, now);
}

void Gathering::connect_queue(std::deque<int>& queue, Time now) {
  for (auto left = queue.size(); left > 0 && !is_held_up(table_.at(queue.front())); --left) {
    const int node = queue.front();
    queue.pop_front();
    HeadHost& host = table_.at(node);
    if (host.tries > 0 && now < host.due) {
      queue.push_back(node);
      continue;
    }
    ++host.tries;
    table_.connect(node, now);
  }
}

void Gathering::on_greeting(int node, const Greeting& greeting, Time now) {
  if (table_.at(node).state != State::connecting) return;
  const std::string& own = table_.plan().version;
  if (greeting.version == own) return ask(node, now);
  if (may_copy(node)) {
    copy(node, now);
    return table_.leave(node);
  }
  table_.drop(node, {table_.name(node),
                     fmt::format("has launch {}, this is {}: the same version on all hosts, please",
                                 without_controls(greeting.version, 40), own),
                     1});
}

bool Gathering::may_copy(int node) const { return table_.plan().may_copy && !table_.at(node).copies; }

// This program will be sent there over another connection, as soon as the present one has ended.
void Gathering::copy(int node, Time now) {
  table_.move(node, State::waiting, now);
  table_.at(node).copies = true;
  table_.at(node).tries = 0;
}

void Gathering::on_taken(int node, Time now) {
  HeadHost& host = table_.at(node);
  if (host.state == State::connecting && host.copies && !host.left) host.due = later(now, limit_of(host));
}

void Gathering::ask(int node, Time now) {
  table_.move(node, State::asked, now);
  table_.add(TellHost{node, node_job(table_.plan(), node)});
}

void Gathering::on_ready(int node, const NodeReady& ready) {
  if (table_.at(node).state != State::asked) return;
  table_.at(node).ready = ready;
  table_.move(node, State::ready, never);
}

void Gathering::on_cannot(int node, const NodeCannot& cannot) {
  if (table_.at(node).state != State::asked) return;
  table_.put_out(node, {table_.name(node), without_controls(cannot.reason, 400), cannot.exit_code});
}

void Gathering::expire(int node, Time now, int late_code) {
  const HeadHost& host = table_.at(node);
  if (now < host.due || calls_back(node, now)) return;
  if (std::string why = why_late(host); !why.empty()) table_.drop(node, {table_.name(node), std::move(why), late_code});
}

// Once for each connection.
bool Gathering::calls_back(int node, Time now) {
  HeadHost& host = table_.at(node);
  if (host.state != State::connecting || host.starter == started_by_head || host.left) return false;
  table_.leave(node);
  host.due = later(now, time_to_end);
  return true;
}

// Its starter could not, or was lost; the head may have other keys and names.
void Gathering::take_over(int node, Time now) {
  table_.move(node, State::waiting, now);
  table_.at(node).starter = started_by_head;
  table_.at(node).tries = 0;
  queue(node);
}

void Gathering::on_lost(const LostConnection& lost, int node, Time now) {
  HeadHost& host = table_.at(node);
  if (host.state == State::waiting) {
    host.due = now;
    host.starter = started_by_head;  // which has the file to be sent
    queue(node);
  } else if (host.starter != started_by_head) {
    take_over(node, now);
  } else if (lacks_launch(lost) && may_copy(node)) {
    copy(node, now);
    queue(node);
  } else if (may_try_again(lost) && host.tries < most_tries) {
    const Duration delay = random_.between(first_delay, 2 * host.tries * first_delay + 1s);
    table_.move(node, State::waiting, later(now, delay));
    queue(node);
  } else {
    const HostProblem problem = explain(lost);
    table_.drop(node, {table_.name(node), problem.reason, problem.exit_code});
  }
}

}  // namespace launch
