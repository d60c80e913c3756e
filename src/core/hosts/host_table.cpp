#include "launch/core/hosts/host_table.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_fold.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {

HostTable::HostTable(HeadPlan plan) : plan_(std::move(plan)), hosts_(plan_.nodes.size()) {
  counts_[static_cast<std::size_t>(State::waiting)] = size();
  for (int node = 0; node < size(); ++node) at(node).starter = plan_.nodes[static_cast<std::size_t>(node)].starter;
}

std::vector<std::string> HostTable::names(std::initializer_list<State> states) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (std::find(states.begin(), states.end(), hosts_[i].state) != states.end()) all.push_back(plan_.nodes[i].host);
  return all;
}

std::string HostTable::progress(std::initializer_list<HostsDoing> doing) const {
  std::vector<std::string> parts;
  std::size_t left = 0;
  for (const HostsDoing& one : doing) {
    const auto whom = names(one.states);
    left += whom.size();
    if (!whom.empty()) parts.push_back(fmt::format("{} {}", one.words, fold_hosts(whom)));
  }
  return fmt::format("waiting for {} of {}: {}", left, counted(size(), "host"), fmt::join(parts, "; "));
}

bool HostTable::is_one_machine() const {
  const std::string& machine = hosts_.front().ready.boot_id;
  const auto is_there = [&](const HeadHost& host) { return host.ready.boot_id == machine; };
  return !machine.empty() && std::all_of(hosts_.begin(), hosts_.end(), is_there);
}

bool HostTable::some_run() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const HeadHost& host) { return host.state == State::running && !host.has_ended; });
}

bool HostTable::has_report() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const HeadHost& host) { return !host.end.report.empty() && !was_told_to_stop(host.end.json); });
}

void HostTable::beat(Time now) {
  if (now < beat_) return;
  start_beats(now);
  for (int node = 0; node < size(); ++node)
    if (is_listening(at(node))) add(TellHost{node, HostBeat{}});
}

void HostTable::connect(int node, Time when) {
  HeadHost& host = at(node);
  host.connected = true;
  host.left = false;
  if (host.starter != started_by_head) ++at(host.starter).peers;
  move(node, State::connecting, when);
  add(ConnectHost{node, host.copies, host.starter});
}

void HostTable::disconnect(int node) {
  HeadHost& host = at(node);
  host.connected = false;
  if (host.starter != started_by_head) --at(host.starter).peers;
}

void HostTable::leave(int node) {
  at(node).left = true;
  add(LeaveHost{node, at(node).silent});
}

void HostTable::leave_unless_needed(int node) {
  if (at(node).peers == 0) leave(node);
}

void HostTable::confirm(int node) {
  at(node).left = at(node).peers == 0;
  add(ConfirmHost{node, at(node).left});
}

void HostTable::move(int node, State state, Time when) {
  HeadHost& host = at(node);
  if (host.state == State::connecting) --connecting_of(host.starter);
  if (state == State::connecting) ++connecting_of(host.starter);
  --counts_[static_cast<std::size_t>(host.state)];
  ++counts_[static_cast<std::size_t>(state)];
  host.state = state;
  host.due = later(when, limit_of(host));
}

void HostTable::drop(int node, const HostProblem& problem) {
  HeadHost& host = at(node);
  if (host.state == State::running) {
    lose(node, problem);
  } else {
    problems_.push_back(problem);
    move(node, State::ended, never);
  }
  if (host.connected && !host.left) leave(node);
}

void HostTable::drop_if_silent(int node, Time now, bool slept) {
  HeadHost& host = at(node);
  const Time due = later(host.heard, plan_.silence);
  if (host.state != State::running || now < due) return;
  const Time end = end_of_silence(due, now, slept);
  if (end > now) {
    host.heard = end - plan_.silence;
  } else {
    host.silent = true;
    drop(node, {name(node), why_silent(plan_.silence), 124});
  }
}

void HostTable::lose(int node, const HostProblem& problem) {
  flush(node);
  if (is_safe(at(node), plan_.requeue_exit)) return move(node, State::ended, never);
  say({problem});
  losses_.push_back(problem);
  move(node, State::lost, never);
}

void HostTable::put_out(int node, const HostProblem& problem) {
  problems_.push_back(problem);
  move(node, State::ended, never);
  leave_unless_needed(node);
}

void HostTable::nonsense(int node, const std::string& what) {
  const HeadHost& host = at(node);
  if (host.connected && !host.left) drop(node, {name(node), "what comes from there is not launch: " + what, 1});
}

void HostTable::flush(int node) {
  for (const bool errors : {false, true}) {
    std::string text;
    (errors ? at(node).err : at(node).out).flush([&](std::string_view line) { take(errors, line, Time(), text); });
    if (!text.empty()) add(ShowLines{errors, std::move(text)});
  }
  show_all_folded();
}

void HostTable::fold(int ranks) { folded_.assign(2, FoldedOutput(ranks)); }

void HostTable::take(bool errors, std::string_view line, Time now, std::string& text) {
  if (!folded_.empty()) return folded_[errors ? 1 : 0].take(line, now, text);
  text += line;
  text += '\n';
}

void HostTable::show_folded(Time now) {
  for (std::size_t i = 0; i < folded_.size(); ++i) {
    std::string text;
    folded_[i].give_due(now, text);
    if (!text.empty()) add(ShowLines{i == 1, std::move(text)});
  }
}

void HostTable::show_all_folded() { show_folded(never); }

Time HostTable::fold_due() const {
  Time first = never;
  for (const FoldedOutput& one : folded_) first = std::min(first, one.due());
  return first;
}

void HostTable::say(const std::vector<HostProblem>& problems) {
  for (std::string& line : fold_problems(problems)) add(SayLine{true, std::move(line)});
}

}  // namespace launch
