// For tests of Head: a head whose hosts say what the test says, and what it has done in the last step and ever.
#pragma once

#include "launch/core/hosts/head.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace launch::heads {

inline HeadPlan plan_of(int nodes) {
  HeadPlan plan;
  for (int i = 1; i <= nodes; ++i) plan.nodes.push_back({"n" + std::to_string(i)});
  plan.options = {"--quiet"};
  plan.program = {"train.py", "--lr", "3"};
  plan.env = {"A=1"};
  plan.folder = "/work";
  plan.umask = 027;
  plan.version = "1.4";
  plan.run_id = "run";
  plan.nnodes = std::to_string(nodes);
  return plan;
}

// So many connections are made at the same time.
inline HeadPlan windowed(int nodes, int fanout) {
  HeadPlan plan = plan_of(nodes);
  plan.fanout = fanout;
  return plan;
}

constexpr auto nothing_started = "so nothing was started";

inline NodeReady ready_with(std::vector<std::string> addresses, std::string boot_id, std::uint16_t port = 43211) {
  NodeReady ready;
  ready.hostname = "h";
  ready.boot_id = std::move(boot_id);
  for (std::size_t i = 0; i < addresses.size(); ++i) ready.interfaces.push_back("eth" + std::to_string(i));
  ready.addresses = std::move(addresses);
  ready.port = port;
  return ready;
}

inline LostConnection lost_to(std::string errors, int code = 255) {
  LostConnection lost;
  lost.program = "ssh";
  lost.status = {ExitStatus::Kind::exited, code};
  lost.errors = std::move(errors);
  return lost;
}

inline LostConnection busy_login() {
  return lost_to("kex_exchange_identification: Connection closed by remote host\n");
}

template <class T>
std::vector<T> all_of(const HeadActions& actions) {
  std::vector<T> found;
  for (const HeadAction& action : actions)
    if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
  return found;
}

class Driver {
 public:
  explicit Driver(HeadPlan plan, std::uint64_t seed = 1)
      : nodes_(static_cast<int>(plan.nodes.size())), head(std::move(plan), seed) {
    take(head.start(now));
  }

  Driver& greet(int node, const std::string& version = "1.4") {
    return take(head.on_greeting(node, {host_protocol, version, 4711, "h"}, now));
  }
  Driver& say(int node, HostMessage message) { return take(head.on_message(node, std::move(message), now)); }
  Driver& babble(int node) { return take(head.on_nonsense(node, "a frame of an unknown kind 77", now)); }
  Driver& lose(int node, LostConnection lost = lost_to("")) { return take(head.on_lost(lost, node, now)); }
  Driver& signal(int number) { return take(head.on_signal(number, now)); }
  Driver& wait(Duration time) {
    now += time;
    return take(head.on_deadline(now));
  }
  // The same, with each look at the clock that the head wants meanwhile.
  Driver& stay(Duration time) {
    const Time end = later(now, time);
    HeadActions all;
    do {
      now = std::min(end, std::max(now, head.deadline()));
      for (HeadAction& action : head.on_deadline(now)) all.push_back(std::move(action));
    } while (now < end);
    return take(std::move(all));
  }

  // All hosts come so far, in their order; they are on machines of their own.
  Driver& greet_all() {
    for (int i = 0; i < nodes_; ++i) greet(i);
    return *this;
  }
  Driver& ready_all() {
    greet_all();
    for (int i = 0; i < nodes_; ++i) say(i, ready_with({"10.0.0.1"}, "boot" + std::to_string(i)));
    return *this;
  }
  Driver& run_all() {
    ready_all();
    for (int i = 1; i < nodes_; ++i) say(i, ReachAnswer{{""}});
    return *this;
  }

  // Of the last step.
  template <class T>
  std::vector<T> all() const {
    return all_of<T>(last);
  }
  std::vector<int> connected() const {
    std::vector<int> nodes;
    for (const auto& one : all<ConnectHost>()) nodes.push_back(one.node);
    return nodes;
  }
  std::vector<int> left() const {
    std::vector<int> nodes;
    for (const auto& one : all<LeaveHost>()) nodes.push_back(one.node);
    return nodes;
  }
  template <class Message>
  std::vector<int> told() const {
    std::vector<int> nodes;
    for (const auto& one : all<TellHost>())
      if (std::holds_alternative<Message>(one.message)) nodes.push_back(one.node);
    return nodes;
  }
  template <class Message>
  std::optional<Message> told(int node) const {
    for (const auto& one : all<TellHost>())
      if (one.node == node && std::holds_alternative<Message>(one.message)) return std::get<Message>(one.message);
    return std::nullopt;
  }
  std::vector<std::string> said() const {
    std::vector<std::string> lines;
    for (const auto& one : all<SayLine>()) lines.push_back(one.text);
    return lines;
  }
  std::string shown(bool errors = false) const {
    std::string lines;
    for (const auto& one : all<ShowLines>())
      if (one.errors == errors) lines += one.lines;
    return lines;
  }
  // The exit code, if this step was the last one; FinishHead must be the last action then.
  std::optional<int> code() const {
    if (last.empty() || all<FinishHead>().size() != 1) return std::nullopt;
    const auto* end = std::get_if<FinishHead>(&last.back());
    return end == nullptr ? std::nullopt : std::optional(end->exit_code);
  }
  bool ever_went() const {
    for (const auto& one : all_of<TellHost>(ever))
      if (std::holds_alternative<NodeGo>(one.message)) return true;
    return false;
  }

 private:
  Driver& take(HeadActions actions) {
    ever.insert(ever.end(), actions.begin(), actions.end());
    last = std::move(actions);
    return *this;
  }

  int nodes_;

 public:
  Head head;
  Time now{std::chrono::hours(1)};
  HeadActions last;
  HeadActions ever;
};

// Its nodes run.
inline Driver running(int nodes, bool c10d = false) {
  HeadPlan plan = plan_of(nodes);
  plan.c10d = c10d;
  Driver d(plan);
  d.run_all();
  return d;
}

// If the last step was the end.
inline FinishHead end_of(const Driver& d) {
  const auto ends = d.all<FinishHead>();
  return ends.size() == 1 ? ends[0] : FinishHead{-1, "no end", ""};
}

}  // namespace launch::heads
