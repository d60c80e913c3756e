#include "launch/core/store/store_table.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/store/counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace launch {
namespace {

// The leading number of a text, as strtoll reads it: blanks, a sign, digits, then anything.
std::optional<std::int64_t> number_of_counter(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with("+") && !text.starts_with("+-")) text.remove_prefix(1);
  return leading_number(text);
}

void append_wait_reply(std::string& out, WaitReply reply) { append_u8(out, static_cast<std::uint8_t>(reply)); }

}  // namespace

struct StoreTable::Change {
  WatchEvent event;
  std::string_view key, before, after;
};

struct StoreTable::Answer {
  ConnectionId from;
  std::string& reply;
  std::vector<Push>& pushes;
  std::size_t reply_begin = reply.size();
  std::size_t told = 0;  // bytes for watchers

  Status value(std::string_view bytes) {
    if (reply.size() - reply_begin + sizeof(std::uint64_t) + bytes.size() > max_reply_bytes) {
      return protocol_error(fmt::format("answer a request: the reply is over the limit of {} bytes", max_reply_bytes));
    }
    append_bytes(reply, bytes);
    return {};
  }

  std::string& bytes_for(ConnectionId connection) {
    return connection == from ? reply : pushes.emplace_back(Push{connection, {}}).bytes;
  }

  void stop_waiting(ConnectionId connection) { append_wait_reply(bytes_for(connection), WaitReply::stop_waiting); }

  void tell(ConnectionId connection, const Change& change) {
    std::string& bytes = bytes_for(connection);
    append_u8(bytes, static_cast<std::uint8_t>(change.event));
    append_bytes(bytes, change.key);
    append_bytes(bytes, change.before);
    append_bytes(bytes, change.after);
  }
};

Status StoreTable::apply(ConnectionId from, const Request& request, std::string& reply, std::vector<Push>& pushes) {
  Answer answer{from, reply, pushes};
  Status status = std::visit([&](const auto& known) { return on(known, answer); }, request);
  if (!status) reply.resize(answer.reply_begin);
  return status;
}

void StoreTable::drop(ConnectionId connection, bool silent, std::vector<Push>& pushes) {
  forget_wait(connection);
  forget_watches(connection);
  Will will = take_will(connection);
  std::erase_if(will.words, [this](const Will::Word& word) { return !word.unless.empty() && exists(word.unless); });
  const std::string claimed(will.claim ? get(will.claim->key).value_or("") : "");
  const bool begun = will.claim && get(will.claim->begun);
  std::string unread;
  for (const Request& deed : deeds_of(will, silent, claimed, begun)) (void)apply(connection, deed, unread, pushes);
}

std::optional<std::string_view> StoreTable::get(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void StoreTable::forget_workers() {
  const auto goes = [this](const auto& entry) { return owner_of(entry.first, agent_keys_) != KeyOwner::agents; };
  std::erase_if(values_, goes);
  std::erase_if(queues_, goes);
}

bool StoreTable::exists(std::string_view key) const { return values_.contains(key) || queues_.contains(key); }

// Values.

Status StoreTable::store(std::string_view key, std::string_view value, Answer& answer) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    Status told = tell_watchers({WatchEvent::created, key, {}, value}, answer);
    if (told) values_.emplace(key, value);
    return told;
  }
  Status told = tell_watchers({WatchEvent::updated, key, found->second, value}, answer);
  if (told) found->second.assign(value);
  return told;
}

Status StoreTable::put(std::string_view key, std::string_view value, Answer& answer) {
  Status stored = store(key, value, answer);
  if (stored) wake_all(key, answer);
  return stored;
}

Result<std::int64_t> StoreTable::add(const AddRequest& request, Answer& answer) {
  const auto current = get(request.key);
  const std::optional<std::int64_t> number = current ? number_of_counter(*current) : 0;
  if (!number) return protocol_error(fmt::format("add to key {}: its value is not a number", shown(request.key)));
  const std::int64_t sum = wrapping_sum(*number, request.amount);
  char text[24];
  const char* text_end = std::to_chars(std::begin(text), std::end(text), sum).ptr;
  if (Status stored = store(request.key, {text, text_end}, answer); !stored) return std::move(stored).error();
  return sum;
}

Status StoreTable::on(const SetRequest& request, Answer& answer) { return put(request.key, request.payload, answer); }

Status StoreTable::on(const MultiSetRequest& request, Answer& answer) {
  for (const SetRequest& entry : request.entries) {
    if (Status stored = on(entry, answer); !stored) return stored;
  }
  return {};
}

Status StoreTable::on(const CompareSetRequest& request, Answer& answer) {
  const auto current = get(request.key);
  if (current.value_or("") != request.expected) return answer.value(current.value_or(request.expected));
  if (Status stored = put(request.key, request.desired, answer); !stored) return stored;
  return answer.value(request.desired);
}

Status StoreTable::on(const AppendRequest& request, Answer& answer) {
  const auto found = values_.find(request.key);
  if (found == values_.end()) return put(request.key, request.payload, answer);
  if (!watchers_.empty()) return put(request.key, found->second + std::string(request.payload), answer);
  found->second.append(request.payload);  // in place: a value that grows by many small pieces stays cheap
  wake_all(request.key, answer);
  return {};
}

Status StoreTable::on(const GetRequest& request, Answer& answer) { return answer.value(get(request.key).value_or("")); }

Status StoreTable::on(const MultiGetRequest& request, Answer& answer) {
  for (const std::string_view key : request.keys) {
    if (Status status = answer.value(get(key).value_or("")); !status) return status;
  }
  return {};
}

Status StoreTable::on(const AddRequest& request, Answer& answer) {
  const auto sum = add(request, answer);
  if (!sum) return sum.error();
  wake_all(request.key, answer);
  append_i64(answer.reply, *sum);
  return {};
}

Status StoreTable::on(const DeleteKeyRequest& request, Answer& answer) {
  const auto found = values_.find(request.key);
  if (found != values_.end()) {
    Status told = tell_watchers({WatchEvent::deleted, request.key, found->second, {}}, answer);
    if (!told) return told;
    values_.erase(found);
    append_i64(answer.reply, 1);
  } else {
    append_i64(answer.reply, 0);
  }
  return {};
}

Status StoreTable::on(const CheckRequest& request, Answer& answer) {
  const bool ready =
      std::all_of(request.keys.begin(), request.keys.end(), [this](std::string_view key) { return exists(key); });
  append_u8(answer.reply, static_cast<std::uint8_t>(ready ? CheckReply::ready : CheckReply::not_ready));
  return {};
}

Status StoreTable::on(const CountKeysRequest&, Answer& answer) {
  append_i64(answer.reply, static_cast<std::int64_t>(size()));
  return {};
}

Status StoreTable::on(const ListKeysRequest&, Answer& answer) {
  append_i64(answer.reply, static_cast<std::int64_t>(size()));
  for (const auto& [key, value] : values_) {
    if (Status status = answer.value(key); !status) return status;
  }
  return {};
}

// The connection itself.

Status StoreTable::on(const ValidateRequest& request, Answer&) {
  if (request.magic == validate_magic) return {};
  return protocol_error(fmt::format("read VALIDATE: magic {:#010x} is not {:#010x}", request.magic, validate_magic));
}

Status StoreTable::on(const PingRequest& request, Answer& answer) {
  append_u32(answer.reply, request.nonce);
  return {};
}

// AgentStore answers this request: it has the memberships.
Status StoreTable::on(const AttendRequest& request, Answer&) {
  return protocol_error(fmt::format("attend to key {}: this store keeps no members", shown(request.key)));
}

Status StoreTable::on(const LeaveWillRequest& request, Answer& answer) {
  auto will = parse_will(request.text);
  if (!will) return will.error();
  (void)take_will(answer.from);
  if (will->claim) {
    const auto [latest, first] = claimants_.try_emplace(claimant_of(*will), answer.from);
    if (!first) wills_.at(std::exchange(latest->second, answer.from)).will = {};
  }
  if (!will->empty()) wills_.try_emplace(answer.from, LeftWill{std::move(*will), request.text.size()});
  append_u8(answer.reply, 0);
  return {};
}

Will StoreTable::take_will(ConnectionId connection) {
  const auto left = wills_.extract(connection);
  if (left.empty()) return {};
  claimants_.erase(claimant_of(left.mapped().will));
  return std::move(left.mapped().will);
}

// Queues.

Status StoreTable::on(const QueuePushRequest& request, Answer& answer) {
  auto queue = queues_.find(request.key);
  if (queue == queues_.end()) queue = queues_.try_emplace(std::string(request.key)).first;
  queue->second.emplace_back(request.payload);
  wake_one(request.key, answer);
  return {};
}

Status StoreTable::on(const QueuePopRequest& request, Answer& answer) {
  const auto queue = queues_.find(request.key);
  append_i64(answer.reply, queue == queues_.end() ? 0 : static_cast<std::int64_t>(queue->second.size()));
  if (queue == queues_.end()) return {};
  append_bytes(answer.reply, queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
  return {};
}

Status StoreTable::on(const QueueLengthRequest& request, Answer& answer) {
  const auto queue = queues_.find(request.key);
  append_i64(answer.reply, queue == queues_.end() ? 0 : static_cast<std::int64_t>(queue->second.size()));
  return {};
}

// Waits.

Status StoreTable::on(const WaitRequest& request, Answer& answer) {
  forget_wait(answer.from);
  Wait wait{next_ticket_++, 0, 0, {}};
  for (const std::string_view key : request.keys) {
    if (!exists(key)) await(key, wait, answer.from);
  }
  if (wait.missing == 0) {
    append_wait_reply(answer.reply, WaitReply::stop_waiting);
  } else {
    waits_.emplace(answer.from, std::move(wait));
  }
  return {};
}

Status StoreTable::on(const CancelWaitRequest&, Answer& answer) {
  forget_wait(answer.from);
  append_wait_reply(answer.reply, WaitReply::cancelled);
  return {};
}

Status StoreTable::on(const BarrierRequest& request, Answer& answer) {
  const auto arrived = add({request.key, 1}, answer);
  if (!arrived) return arrived.error();
  if (*arrived >= request.world_size) {
    wake_all(request.key, answer);
    append_wait_reply(answer.reply, WaitReply::stop_waiting);
    return {};
  }
  forget_wait(answer.from);
  Wait wait{next_ticket_++, 0, 0, {}};
  await(request.key, wait, answer.from);
  waits_.emplace(answer.from, std::move(wait));
  return {};
}

void StoreTable::await(std::string_view key, Wait& wait, ConnectionId connection) {
  auto list = waiters_.find(key);
  if (list == waiters_.end()) list = waiters_.try_emplace(std::string(key)).first;
  if (!list->second.try_emplace(wait.ticket, connection).second) return;  // a key that is named twice is missing once
  wait.keys.emplace_back(key);
  wait.bytes += bytes_held(key);
  ++wait.missing;
}

void StoreTable::forget_wait(ConnectionId connection) {
  const auto wait = waits_.find(connection);
  if (wait == waits_.end()) return;
  for (const std::string& key : wait->second.keys) {
    const auto list = waiters_.find(key);
    if (list == waiters_.end()) continue;
    list->second.erase(wait->second.ticket);
    if (list->second.empty()) waiters_.erase(list);
  }
  waits_.erase(wait);
}

// One of the keys has come; true if it was the last one.
bool StoreTable::release(ConnectionId waiter, Answer& answer) {
  const auto wait = waits_.find(waiter);
  if (--wait->second.missing > 0) return false;
  waits_.erase(wait);
  answer.stop_waiting(waiter);
  return true;
}

void StoreTable::wake_all(std::string_view key, Answer& answer) {
  const auto list = waiters_.find(key);
  if (list == waiters_.end()) return;
  for (const auto& [ticket, waiter] : list->second) release(waiter, answer);
  waiters_.erase(list);
}

// From the oldest wait on: a wait that lacks other keys, too, has this one counted; the first wait that ends is the
// last one served.
void StoreTable::wake_one(std::string_view key, Answer& answer) {
  const auto list = waiters_.find(key);
  if (list == waiters_.end()) return;
  auto& queue = list->second;
  bool served = false;
  while (!served && !queue.empty()) {
    served = release(queue.begin()->second, answer);
    queue.erase(queue.begin());
  }
  if (queue.empty()) waiters_.erase(list);
}

// Watches, which only the old dialect knows.

Status StoreTable::on(const WatchKeyRequest& request, Answer& answer) {
  auto& [keys, bytes] = watches_[answer.from];
  if (keys.size() >= max_keys) {
    return protocol_error(fmt::format("read WATCH_KEY: a connection watches {} keys at most", max_keys));
  }
  if (keys.emplace(request.key).second) bytes += bytes_held(request.key);
  auto watchers = watchers_.find(request.key);
  if (watchers == watchers_.end()) watchers = watchers_.try_emplace(std::string(request.key)).first;
  watchers->second.insert(answer.from);
  append_u8(answer.reply, static_cast<std::uint8_t>(WatchEvent::registered));
  return {};
}

Status StoreTable::tell_watchers(const Change& change, Answer& answer) {
  const auto watchers = watchers_.find(change.key);
  if (watchers == watchers_.end()) return {};
  const std::size_t texts = change.key.size() + change.before.size() + change.after.size();
  answer.told += (1 + 3 * sizeof(std::uint64_t) + texts) * watchers->second.size();
  if (answer.told > max_reply_bytes) {
    return protocol_error(fmt::format("change key {}: telling its watchers takes more than {} bytes", shown(change.key),
                                      max_reply_bytes));
  }
  for (const ConnectionId connection : watchers->second) answer.tell(connection, change);
  return {};
}

void StoreTable::forget_watches(ConnectionId connection) {
  const auto watch = watches_.find(connection);
  if (watch == watches_.end()) return;
  for (const std::string& key : watch->second.keys) {
    const auto watchers = watchers_.find(key);
    watchers->second.erase(connection);
    if (watchers->second.empty()) watchers_.erase(watchers);
  }
  watches_.erase(watch);
}

}  // namespace launch
