#include "launch/core/rendezvous/static_rendezvous.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/job/ranks.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_static_report = 1s;
constexpr Duration quick_answer_time = 5s;  // for what a live store answers at once
constexpr Duration count_poll = 100ms;

RendezvousStep fail(ErrorCode code, std::string message) { return {Error{code, std::move(message)}, std::nullopt}; }

std::string list_nodes(const std::vector<int>& nodes) {
  return fmt::format("node{} {}", nodes.size() == 1 ? "" : "s", fmt::join(nodes, ", "));
}

int count_in(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string this_node(const StaticJob& job) { return fmt::format("node {}", job.self.group_rank.value); }

const std::string& only_value(const Outcome& outcome) { return std::get<Values>(outcome).values.at(0); }

}  // namespace

CheckKeys check_claims(const std::string& run_id, int nnodes) {
  CheckKeys claims;
  for (int node = 0; node < nnodes; ++node) claims.keys.push_back(claim_key(run_id, node));
  return claims;
}

Error rank_used_twice(const StaticJob& job, const std::string& other) {
  return {ErrorCode::conflict,
          fmt::format("--node-rank {} is used twice: by {} and by {}; give each node a rank of its own, 0 to {}",
                      job.self.group_rank.value, shown(other), shown(job.identity), job.nnodes - 1)};
}

std::string agent_identity(const std::string& host, int pid, std::uint32_t salt) {
  return fmt::format("host {} (pid {}, {:08x})", host, pid, salt);
}

std::optional<int> pid_of_agent(std::string_view identity, const std::string& host) {
  const std::string begin = fmt::format("host {} (pid ", host);
  if (!identity.starts_with(begin)) return std::nullopt;
  identity.remove_prefix(begin.size());
  return parse_int(identity.substr(0, identity.find(',')));
}

KeyList StaticRendezvous::role_keys() const {
  KeyList keys;
  for (int node = 0; node < job_.nnodes; ++node) keys.push_back(role_info_key(job_.run_id, node));
  return keys;
}

Time StaticRendezvous::deadline() const {
  if (state_ == State::waiting) return std::min(look_, give_up_);
  return later(give_up_, quick_answer_time);  // even the last look at which nodes are missing comes after the time-out
}

RendezvousStep StaticRendezvous::go(State state, Operation operation) {
  state_ = state;
  return {std::move(operation), std::nullopt};
}

RendezvousStep StaticRendezvous::start(Time now) {
  give_up_ = later(now, job_.timeout);
  report_ = later(now, first_static_report);
  look_ = report_;
  if (job_.found) return counted();
  if (job_.fence) return claim();  // the nodes are those that agreed in the attempt before
  return go(State::agreeing, CompareSet{nnodes_key(job_.run_id), "", std::to_string(job_.nnodes)});
}

RendezvousStep StaticRendezvous::on(const Outcome& outcome, Time now) {
  switch (state_) {
    case State::agreeing:
      return agreed(outcome);
    case State::comparing:
      return compared(outcome);
    case State::claiming:
      return claimed(outcome);
    case State::counting:
      return counted();
    case State::gathering:
      return gathered(outcome, now);
    case State::introducing:
      return wait_for_peers();
    case State::waiting:
      return waited(outcome);
    case State::looking:
      return looked(outcome, now);
    case State::beginning:
      return read_role_infos();
    case State::taking_back:
      return wait_for_peers();
    case State::reading:
      return read(outcome);
    case State::fencing:
      return assign(role_infos_);
    case State::publishing:
      return formed(own_);
    case State::surveying: {
      const std::vector<bool>& claims = std::get<Presence>(outcome).present;
      return {make_round(std::find(claims.begin(), claims.end(), false) == claims.end()), std::nullopt};
    }
  }
  return fail(ErrorCode::protocol, "the static rendezvous has no state");
}

RendezvousStep StaticRendezvous::agreed(const Outcome& outcome) {
  const std::string& said = only_value(outcome);
  const std::string own = std::to_string(job_.nnodes);
  if (said != own) return {disagreement("--nnodes", this_node(job_), own, said), std::nullopt};
  if (job_.common.empty()) return claim();
  return go(State::comparing, CompareSet{settings_key(job_.run_id), "", to_text(job_.common)});
}

RendezvousStep StaticRendezvous::compared(const Outcome& outcome) {
  const CommonSettings theirs = parse_common_settings(only_value(outcome));
  const auto error = find_disagreement(this_node(job_), job_.common, theirs);
  if (error) return {*error, std::nullopt};
  RendezvousStep step = claim();
  if (!job_.fence) step.warnings = find_differences(job_.common, theirs);
  return step;
}

RendezvousStep StaticRendezvous::claim() {
  return go(State::claiming, CompareSet{claim_key(job_.run_id, job_.self.group_rank.value), "", job_.identity});
}

RendezvousStep StaticRendezvous::claimed(const Outcome& outcome) {
  const std::string& holder = only_value(outcome);
  if (holder != job_.identity) {
    holder_ = holder;
    return {rank_used_twice(job_, holder), std::nullopt};
  }
  return go(State::counting, AddNumber{std::string(client_count_key), 1});
}

RendezvousStep StaticRendezvous::counted() {
  if (!job_.identical_workers)
    return go(State::introducing,
              SetKeys{{{role_info_key(job_.run_id, job_.self.group_rank.value), to_json(job_.self)}}});
  if (leads() && !job_.found) return go(State::gathering, GetKeys{{std::string(client_count_key)}});
  return assign({});
}

// Nodes with identical workers write no role_info to wait for. There is only the count of arrivals, and it can only be
// polled.
RendezvousStep StaticRendezvous::gathered(const Outcome& outcome, Time now) {
  const int arrived = count_in(only_value(outcome));
  if (arrived >= job_.nnodes) return assign({});
  if (now >= give_up_)
    return fail(ErrorCode::timeout, fmt::format("the rendezvous timed out after {}: {} of {} nodes joined",
                                                to_text(job_.timeout), arrived, job_.nnodes));
  RendezvousStep step = go(State::waiting, AwaitKeys{{std::string(never_key)}});
  look_ = later(now, count_poll);
  if (now >= report_) {
    report_ = later(now, job_.report_interval);
    step.waiting = Waiting{arrived, {}, give_up_ - now};
  }
  return step;
}

RendezvousStep StaticRendezvous::wait_for_peers() {
  if (leads()) return go(State::waiting, AwaitKeys{role_keys()});
  return go(State::waiting, AwaitKeys{{ranks_key(job_.run_id, job_.self.group_rank.value)}});
}

RendezvousStep StaticRendezvous::waited(const Outcome& outcome) {
  if (std::holds_alternative<WaitExpired>(outcome)) {
    if (job_.identical_workers) return go(State::gathering, GetKeys{{std::string(client_count_key)}});
    return go(State::looking, CheckKeys{role_keys()});
  }
  if (leads() && !job_.found) return go(State::beginning, SetKeys{{{begun_key(job_.run_id), "1"}}});
  if (leads()) return read_role_infos();
  return go(State::reading, GetKeys{{ranks_key(job_.run_id, job_.self.group_rank.value)}});
}

RendezvousStep StaticRendezvous::read_role_infos() { return go(State::reading, GetKeys{role_keys()}); }

RendezvousStep StaticRendezvous::looked(const Outcome& outcome, Time now) {
  const std::vector<bool>& present = std::get<Presence>(outcome).present;
  std::vector<int> missing;
  for (int node = 0; node < job_.nnodes; ++node)
    if (!present.at(node)) missing.push_back(node);
  if (now >= give_up_) {
    const std::string who = missing.empty()
                                ? "node 0 did not assign ranks"
                                : fmt::format("{} {} not", list_nodes(missing), missing.size() == 1 ? "has" : "have");
    return fail(ErrorCode::timeout,
                fmt::format("the rendezvous timed out after {}: {} of {} nodes have joined, {}", to_text(job_.timeout),
                            job_.nnodes - static_cast<int>(missing.size()), job_.nnodes, who));
  }
  look_ = later(now, job_.report_interval);
  RendezvousStep step = wait_for_peers();
  step.waiting = Waiting{job_.nnodes - static_cast<int>(missing.size()), std::move(missing), give_up_ - now};
  return step;
}

RendezvousStep StaticRendezvous::read(const Outcome& outcome) {
  const std::vector<std::string>& values = std::get<Values>(outcome).values;
  if (leads() && std::find(values.begin(), values.end(), "") != values.end())
    return go(State::taking_back, DeleteKeys{{begun_key(job_.run_id)}});
  if (leads() && job_.fence) {
    state_ = State::fencing;
    role_infos_ = values;
    return {Fence{}, std::nullopt};
  }
  if (leads()) return assign(values);
  const Result<Assignment> assignment = parse_assignment(only_value(outcome));
  if (!assignment) return {assignment.error(), std::nullopt};
  return formed(*assignment);
}

// Without role_infos every node is assumed to be like this one.
RendezvousStep StaticRendezvous::assign(const std::vector<std::string>& role_infos) {
  std::vector<Member> members(job_.nnodes, job_.self);
  for (int node = 0; node < job_.nnodes; ++node) {
    members[node].group_rank = NodeRank(node);
    if (role_infos.empty()) continue;
    const Result<Member> member = parse_member(role_infos.at(node));
    if (!member) return {member.error(), std::nullopt};
    if (member->group_rank != NodeRank(node))
      return fail(ErrorCode::conflict,
                  fmt::format("the node that joined as node {} calls itself node {}", node, member->group_rank.value));
    members[node] = *member;
  }
  const std::vector<Assignment> assignments = assign_ranks(members);
  own_ = assignments[job_.self.group_rank.index()];
  if (role_infos.empty()) return formed(own_);
  SetKeys publish;
  for (const Assignment& a : assignments)
    publish.entries.emplace_back(ranks_key(job_.run_id, a.group_rank.value), to_json(a));
  return go(State::publishing, std::move(publish));
}

RendezvousStep StaticRendezvous::formed(Assignment assignment) {
  own_ = assignment;
  own_.group_rank = job_.self.group_rank;
  own_.group_world_size = job_.nnodes;
  if (!job_.survey) return {make_round(true), std::nullopt};
  return go(State::surveying, check_claims(job_.run_id, job_.nnodes));
}

Round StaticRendezvous::make_round(bool can_restart) const { return {own_, std::nullopt, job_.restarts, can_restart}; }

}  // namespace launch
