#include "launch/core/c10d/agent_store.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_jobs = 1000;
constexpr ConnectionId nobody = ~ConnectionId{0};
constexpr std::size_t most_held = std::size_t{1} << 20U;  // bytes for one agent; it needs some 100

void append_news(std::string& out, std::string_view news) {
  append_u8(out, static_cast<std::uint8_t>(WaitReply::stop_waiting));
  append_bytes(out, news);
}

// The keys that a request reads or writes, if that of a state may be among them.
struct KeysOf {
  std::vector<std::string_view>& keys;

  template <class Other>
  void operator()(const Other& request) const {
    if constexpr (requires { request.key; }) keys.push_back(request.key);
    if constexpr (requires { request.keys; }) keys.insert(keys.end(), request.keys.begin(), request.keys.end());
    if constexpr (requires { request.entries; })
      for (const SetRequest& entry : request.entries) keys.push_back(entry.key);
  }
};

// What leaves nothing in the table.
bool only_looks(const Request& request) {
  return std::holds_alternative<ValidateRequest>(request) || std::holds_alternative<PingRequest>(request) ||
         std::holds_alternative<CheckRequest>(request) || std::holds_alternative<WaitRequest>(request) ||
         std::holds_alternative<CancelWaitRequest>(request) || std::holds_alternative<ListKeysRequest>(request);
}

Error not_in_use() { return protocol_error("nobody hosts a job here yet"); }

}  // namespace

Status AgentStore::apply(const Request& request, const Exchange& exchange) {
  const auto* const ping = std::get_if<PingRequest>(&request);
  if (ping != nullptr && ping->nonce == receipt_nonce && attending_.contains(exchange.from)) {
    hear_receipt(exchange);
    return {};
  }
  const std::size_t begin = exchange.reply.size();
  Status applied = carry_out(request, exchange);
  return applied ? hold_back(request, exchange, begin) : applied;
}

// What it gets is in the order of its requests.
Status AgentStore::hold_back(const Request& request, const Exchange& exchange, std::size_t begin) {
  const auto found = attending_.find(exchange.from);
  if (found == attending_.end()) return {};
  Membership& job = *found->second;
  const bool may = job.may_answer(exchange.from, std::holds_alternative<PingRequest>(request), exchange.now.time);
  const bool may_release = may && job.may_release(exchange.now.time);
  if (may_release) release(job, exchange, begin);
  if (may_release || (may && !held_.contains(exchange.from))) return {};
  if (exchange.reply.size() == begin) return {};
  Held& held = held_.try_emplace(exchange.from, Held{&job}).first->second;
  held.reply.append(exchange.reply, begin);
  held.beats = held.beats || std::holds_alternative<PingRequest>(request);
  exchange.reply.resize(begin);
  tell_to_wait(exchange.now.time, exchange.pushes);
  if (held.reply.size() > most_held) return protocol_error("it asks for much while its answers are held back");
  return {};
}

// One word at a time: what is read is the last one.
void AgentStore::tell_to_wait(Time now, std::vector<Push>& pushes) {
  for (auto& [to, held] : held_) {
    next_word_ = later(now, held.job->between_words());
    if (!held.beats || std::exchange(held.must_read, true)) continue;
    held.job->tell_at(to, now);
    append_u32(pushes.emplace_back(Push{to, {}}).bytes, held_nonce);
  }
}

void AgentStore::hear_receipt(const Exchange& exchange) {
  const auto held = held_.find(exchange.from);
  if (held == held_.end() || !std::exchange(held->second.must_read, false)) return;
  Membership& job = *held->second.job;
  const bool may = job.may_answer(exchange.from, true, exchange.now.time);
  if (may && job.may_release(exchange.now.time)) release(job, exchange, exchange.reply.size());
}

// All members may hear now what one may. An answer to a node that is no member is no reason.
void AgentStore::release(Membership& job, const Exchange& exchange, std::size_t begin) {
  for (auto held = held_.begin(); held != held_.end();) {
    const auto& [to, one] = *held;
    if (one.job != &job) {
      ++held;
      continue;
    }
    if (one.beats) job.tell_at(to, exchange.now.time);
    if (to == exchange.from) {
      exchange.reply.insert(begin, one.reply);
    } else {
      exchange.pushes.push_back({to, one.reply});
    }
    held = held_.erase(held);
  }
  if (held_.empty()) next_word_ = never;
}

// Its members wait for this key before they start workers.
void AgentStore::say_settled(Jobs::iterator job, const Exchange& exchange) {
  const auto round = job->second.take_settled();
  if (!round) return;
  std::string unread;
  const std::string key = settled_key(job->first, *round);
  (void)table_.apply(nobody, SetRequest{key, "1"}, unread, exchange.pushes);
}

Status AgentStore::carry_out(const Request& request, const Exchange& exchange) {
  const ConnectionId from = exchange.from;
  if (const auto* said = std::get_if<AttendRequest>(&request)) return attend(*said, exchange);
  if (closed_ && !only_looks(request)) return not_in_use();
  if (guests_) guests_->saw(from, request, table_);
  if (jobs_.empty()) return table_.apply(from, request, exchange.reply, exchange.pushes);
  if (std::holds_alternative<CancelWaitRequest>(request))
    if (const auto found = attending_.find(from); found != attending_.end()) found->second->stop_waiting(from);
  const auto job = find_job(request);
  if (job == jobs_.end()) return table_.apply(from, request, exchange.reply, exchange.pushes);
  return write_state(job, request, exchange);
}

// A job begins with the first launch agent that attends; torchrun's agents may have been there before it.
Status AgentStore::attend(const AttendRequest& request, const Exchange& exchange) {
  const Instant now = exchange.now;
  const auto said = parse_attendance(request.text);
  if (!said) return said.error();
  if (said->wish == Attendance::Wish::where) return tell_where(request.key, exchange);
  if (closed_ && !lets_in(*said)) return not_in_use();
  auto job = jobs_.find(request.key);
  const bool begun = job != jobs_.end();
  if (said->moved || (said->wish == Attendance::Wish::witness && !begun)) return tell_of_elder(job, *said, exchange);
  if (job == jobs_.end()) {
    if (jobs_.size() >= most_jobs) return protocol_error(fmt::format("attend: a store has {} jobs at most", most_jobs));
    Membership membership(*said);
    if (const auto text = table_.get(request.key)) {
      const Status read = membership.adopt(nobody, std::string(*text), now);
      if (!read) {
        append_news(exchange.reply, to_json(ElasticNews(RoundRefused{read.error()})));
        return {};
      }
    }
    job = jobs_.emplace(std::string(request.key), std::move(membership)).first;
    table_.preset(request.key, job->second.text(now));  // so that nodes that list the keys learn of this job
  }
  const bool witnesses = said->wish == Attendance::Wish::witness;
  if (!witnesses) attending_[exchange.from] = &job->second;
  job->second.attend(exchange.from, *said, now);
  objection_ = job->second.take_objection();
  deliver(job->second, exchange);
  say_settled(job, exchange);
  return {};
}

// To nodes that look for the job, and are no agents of this store yet.
Status AgentStore::tell_where(std::string_view key, const Exchange& exchange) {
  const auto job = jobs_.find(key);
  const bool is_here = !closed_ && job != jobs_.end();
  if (is_here && job->second.moved()) {
    append_news(exchange.reply, to_json(ElasticNews(RoundMoved{*job->second.moved()})));
  } else if (is_here) {
    append_news(exchange.reply, to_json(ElasticNews(RoundWaits())));
  } else if (closed_ && pointer_ && pointer_->first == key) {
    append_news(exchange.reply, to_json(ElasticNews(RoundMoved{pointer_->second})));
  } else if (closed_) {
    return not_in_use();
  } else {
    append_news(exchange.reply, to_json(ElasticNews(RendezvousEnded())));
  }
  return {};
}

// It is no agent of this store.
Status AgentStore::tell_of_elder(Jobs::iterator job, const Attendance& said, const Exchange& exchange) {
  if (job == jobs_.end()) {
    append_news(exchange.reply, to_json(ElasticNews(RendezvousEnded{})));
  } else {
    job->second.attend(exchange.from, said, exchange.now);
    deliver(job->second, exchange);
  }
  return {};
}

// Opens the door for all if it is the agent whose door it is.
bool AgentStore::lets_in(const Attendance& said) {
  if (!said.comeback) return false;
  if (said.hosts) {
    const bool is_own = said.node == closed_->node && said.door.store == closed_->door.store;
    if (is_own) closed_.reset();
    return is_own;
  }
  const std::vector<Heir>& line = said.comeback->last.line;
  return std::any_of(line.begin(), line.end(),
                     [this](const Heir& heir) { return heir.door.store == closed_->door.store; });
}

bool AgentStore::workers_may_run() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job.second.workers_may_run(); });
}

Membership::Others AgentStore::others() const {
  Membership::Others sum;
  for (const auto& [key, job] : jobs_) {
    const Membership::Others others = job.others();
    sum.all += others.all;
    sum.leaving += others.leaving;
  }
  return sum;
}

AgentStore::Jobs::iterator AgentStore::find_job(const Request& request) {
  std::vector<std::string_view> keys;
  std::visit(KeysOf{keys}, request);
  for (const std::string_view key : keys)
    if (const auto found = jobs_.find(key); found != jobs_.end()) return found;
  return jobs_.end();
}

// The text under the key is made before the request. A write is adopted after it, and its writer gets the result.
Status AgentStore::write_state(Jobs::iterator job, const Request& request, const Exchange& exchange) {
  const Instant now = exchange.now;
  std::string& reply = exchange.reply;
  auto& [key, membership] = *job;
  const std::string before = membership.text(now);
  table_.preset(key, before);
  const std::size_t begin = reply.size();
  Status applied = table_.apply(exchange.from, request, reply, exchange.pushes);
  const auto after = table_.get(key);
  if (!applied || !after || *after == before) return applied;
  (void)membership.adopt(exchange.from, std::string(*after), now);  // a text that is not a state has no effect
  const std::string& now_there = membership.text(now);
  table_.preset(key, now_there);
  if (std::holds_alternative<CompareSetRequest>(request)) {
    reply.resize(begin);
    append_bytes(reply, now_there);
  }
  deliver(membership, exchange);
  return {};
}

void AgentStore::drop(ConnectionId connection, bool silent, Instant now, std::vector<Push>& pushes) {
  table_.drop(connection, silent, pushes);
  if (guests_) guests_->drop(connection, now.time);
  attending_.erase(connection);
  held_.erase(connection);
  std::string none;
  for (auto& [key, membership] : jobs_) {
    membership.drop(connection, silent, now);
    deliver(membership, {connection, now, none, pushes});
  }
}

void AgentStore::deliver(Membership& job, const Exchange& exchange) {
  for (const Membership::Answer& answer : job.take_answers()) {
    const bool asked = answer.to == exchange.from;
    append_news(asked ? exchange.reply : exchange.pushes.emplace_back(Push{answer.to, {}}).bytes, answer.text);
  }
  for (const ConnectionId witness : job.take_void()) exchange.pushes.push_back({witness, {}, true});
}

void AgentStore::end(ConnectionId connection) {
  if (const auto found = attending_.find(connection); found != attending_.end()) found->second->end(connection);
}

bool AgentStore::is_watched(ConnectionId connection) const {
  return attending_.contains(connection) || table_.has_will(connection);
}

Time AgentStore::deadline() const {
  Time next = std::min(guests_ ? guests_->deadline() : never, held_.empty() ? never : next_word_);
  for (const auto& [key, membership] : jobs_) next = std::min(next, membership.deadline());
  return next;
}

// Writes what the will of a launch agent would write.
void AgentStore::tell_of_lost_guests(Time now, std::vector<Push>& pushes) {
  if (!guests_) return;
  std::string unread;
  const std::string key = abort_key(guests_->run_id());
  for (const NodeRank node : guests_->take_lost(now)) {
    const std::string loss = loss_of_guest(node);
    (void)table_.apply(nobody, CompareSetRequest{key, "", loss}, unread, pushes);
  }
}

void AgentStore::on_deadline(Instant now, std::vector<Push>& pushes) {
  tell_of_lost_guests(now.time, pushes);
  if (now.time >= next_word_) tell_to_wait(now.time, pushes);
  std::string none;
  for (auto& [key, membership] : jobs_) {
    if (membership.deadline() > now.time) continue;
    membership.on_deadline(now);
    deliver(membership, {nobody, now, none, pushes});
  }
}

}  // namespace launch
