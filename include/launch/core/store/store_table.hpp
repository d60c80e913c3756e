// The contents of the store: one flat map of keys, one map of queues, and which connection waits for what.
//
// Pure: a request goes in, replies come out; it knows connections only by number. Called by io/store_server and by the
// simulator. It never times out a waiter: the protocol has no server-side time-outs.
#pragma once

#include "launch/core/store/key_owner.hpp"
#include "launch/core/store/store_wire.hpp"
#include "launch/core/store/will.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace launch {

using ConnectionId = std::uint32_t;

// How much one request may answer and, counted separately, push to watchers: a MULTI_GET can name one big value often.
// A request that would exceed the limit is an error.
inline constexpr std::size_t max_reply_bytes = std::size_t{256} * 1024 * 1024;

// Bytes for a connection other than the one whose request was applied. `resets`: that one must be reset instead.
struct Push {
  ConnectionId to;
  std::string bytes{};
  bool resets = false;
};

class StoreTable {
 public:
  // Applies one request of `from`; its reply is appended to `reply`, what others get to `pushes`, in order. An error
  // means: close `from` (and call drop); nothing was appended to `reply`, but what was stored before stays.
  Status apply(ConnectionId from, const Request& request, std::string& reply, std::vector<Push>& pushes);

  // The connection is gone: its waits and watches are forgotten, its will is carried out, its keys stay. `silent`: it
  // was not closed, but nothing was heard of it.
  void drop(ConnectionId connection, bool silent, std::vector<Push>& pushes);

  // Connections that have left a will.
  bool has_will(ConnectionId connection) const { return wills_.contains(connection); }
  std::size_t wills() const { return wills_.size(); }

  std::optional<std::string_view> get(std::string_view key) const;

  // Sets a key that a server has from the start. Wakes nobody.
  void preset(std::string_view key, std::string_view value) { values_.insert_or_assign(std::string(key), value); }

  // How the keys of agents begin, if agents and workers share the store.
  void set_agent_keys(AgentKeys beginnings) { agent_keys_ = std::move(beginnings); }
  const AgentKeys& agent_keys() const { return agent_keys_; }
  // Removes every key and queue of workers: the workers that wrote them have ended.
  void forget_workers();

  std::size_t size() const { return values_.size(); }

  // Bytes that the waits, watches and the will of a connection take.
  std::size_t held_for(ConnectionId connection) const;

  // For tests and other checks: connections that wait, and keys that somebody waits for or watches.
  std::size_t waiting_connections() const { return waits_.size(); }
  std::size_t awaited_keys() const { return waiters_.size(); }
  std::size_t watched_keys() const { return watchers_.size(); }

 private:
  // Not noexcept, on purpose: only then does libstdc++ keep the hash beside a key. That costs eight bytes, but a
  // look-up hashes only once.
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
  };
  template <class Value>
  using KeyMap = std::unordered_map<std::string, Value, KeyHash, std::equal_to<>>;

  using Ticket = std::uint64_t;  // a wait that began earlier has the smaller one

  // A WAIT or BARRIER that has no answer yet; a connection has at most one.
  struct Wait {
    Ticket ticket = 0;
    std::size_t missing = 0;        // how many of the keys have not come yet
    std::size_t bytes = 0;          // that the wait takes in this table
    std::vector<std::string> keys;  // each once; also those that have come meanwhile
  };
  struct Watches {
    std::set<std::string, std::less<>> keys;
    std::size_t bytes = 0;
  };
  struct LeftWill {
    Will will;
    std::size_t bytes = 0;
  };
  struct Answer;  // what one apply() appends to

  // Bytes for a key that is waited for or watched: here and in the list of the waiters, with map nodes and pointers.
  static std::size_t bytes_held(std::string_view key) { return 2 * key.size() + 256; }

  Status on(const ValidateRequest& request, Answer& answer);
  Status on(const SetRequest& request, Answer& answer);
  Status on(const CompareSetRequest& request, Answer& answer);
  Status on(const GetRequest& request, Answer& answer);
  Status on(const AddRequest& request, Answer& answer);
  Status on(const CheckRequest& request, Answer& answer);
  Status on(const WaitRequest& request, Answer& answer);
  Status on(const CountKeysRequest& request, Answer& answer);
  Status on(const WatchKeyRequest& request, Answer& answer);
  Status on(const DeleteKeyRequest& request, Answer& answer);
  Status on(const AppendRequest& request, Answer& answer);
  Status on(const MultiGetRequest& request, Answer& answer);
  Status on(const MultiSetRequest& request, Answer& answer);
  Status on(const CancelWaitRequest& request, Answer& answer);
  Status on(const PingRequest& request, Answer& answer);
  Status on(const QueuePushRequest& request, Answer& answer);
  Status on(const QueuePopRequest& request, Answer& answer);
  Status on(const QueueLengthRequest& request, Answer& answer);
  Status on(const ListKeysRequest& request, Answer& answer);
  Status on(const BarrierRequest& request, Answer& answer);
  Status on(const AttendRequest& request, Answer& answer);
  Status on(const LeaveWillRequest& request, Answer& answer);

  bool exists(std::string_view key) const;  // as a value or as a queue with something in it
  Status store(std::string_view key, std::string_view value, Answer& answer);  // wakes nobody
  Status put(std::string_view key, std::string_view value, Answer& answer);
  Result<std::int64_t> add(const AddRequest& request, Answer& answer);  // wakes nobody

  void await(std::string_view key, Wait& wait, ConnectionId connection);
  void forget_wait(ConnectionId connection);
  bool release(ConnectionId waiter, Answer& answer);
  void wake_all(std::string_view key, Answer& answer);
  void wake_one(std::string_view key, Answer& answer);

  struct Change;
  Status tell_watchers(const Change& change, Answer& answer);
  void forget_watches(ConnectionId connection);
  Will take_will(ConnectionId connection);  // an empty one if it has left none

  AgentKeys agent_keys_;
  KeyMap<std::string> values_;
  KeyMap<std::deque<std::string>> queues_;  // none of them empty
  KeyMap<std::map<Ticket, ConnectionId>> waiters_;
  std::unordered_map<ConnectionId, Wait> waits_;
  KeyMap<std::set<ConnectionId>> watchers_;
  std::unordered_map<ConnectionId, Watches> watches_;
  std::unordered_map<ConnectionId, LeftWill> wills_;
  std::unordered_map<std::string, ConnectionId> claimants_;  // which connection has left the latest will of each claim
  Ticket next_ticket_ = 0;
};

inline std::size_t StoreTable::held_for(ConnectionId connection) const {
  std::size_t bytes = 0;
  if (const auto wait = waits_.find(connection); wait != waits_.end()) bytes += wait->second.bytes;
  if (const auto watch = watches_.find(connection); watch != watches_.end()) bytes += watch->second.bytes;
  if (const auto will = wills_.find(connection); will != wills_.end()) bytes += will->second.bytes;
  return bytes;
}

}  // namespace launch
