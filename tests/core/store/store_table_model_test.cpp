// The table against a naive model of it, under seeded random requests.
#include "launch/core/base/random.hpp"
#include "launch/core/store/store_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace launch::store_table_model_test {

using Pushed = std::pair<ConnectionId, std::string>;
using Said = std::pair<std::string, std::vector<Pushed>>;  // a reply, and what others got

Said answer_of(StoreTable& table, ConnectionId from, const Request& request) {
  Said said;
  std::vector<Push> pushes;
  EXPECT_TRUE(table.apply(from, request, said.first, pushes));
  for (const Push& push : pushes) said.second.emplace_back(push.to, push.bytes);
  return said;
}

// The same store, as simple as it can be: every waiter keeps a list of what it lacks, every event looks at all.
class NaiveStore {
 public:
  Said answer(ConnectionId from, const Request& request) {
    reply_.clear();
    pushed_.clear();
    from_ = from;
    std::visit([this](const auto& known) { on(known); }, request);
    return {reply_, pushed_};
  }
  void drop(ConnectionId connection) { forget(connection); }
  std::size_t waiting_connections() const { return waits_.size(); }
  // Appended digits outgrow 64 bits sooner or later; the test starts such a key anew.
  std::vector<std::string> long_values() const {
    std::vector<std::string> keys;
    for (const auto& [key, text] : values_) {
      if (text.size() > 12) keys.push_back(key);
    }
    return keys;
  }

 private:
  struct Lack {
    ConnectionId connection;
    std::vector<std::string> keys;
  };

  template <class Unused>
  void on(const Unused&) {}
  void on(const SetRequest& r) { put(r.key, std::string(r.payload)); }
  void on(const GetRequest& r) { append_bytes(reply_, value(r.key)); }
  void on(const DeleteKeyRequest& r) { append_i64(reply_, values_.erase(std::string(r.key)) > 0 ? 1 : 0); }
  void on(const AppendRequest& r) { put(r.key, value(r.key) + std::string(r.payload)); }
  void on(const CountKeysRequest&) { append_i64(reply_, static_cast<std::int64_t>(values_.size())); }
  void on(const QueueLengthRequest& r) {
    append_i64(reply_, static_cast<std::int64_t>(queues_[std::string(r.key)].size()));
  }
  void on(const MultiGetRequest& r) {
    for (const auto key : r.keys) on(GetRequest{key});
  }
  void on(const MultiSetRequest& r) {
    for (const auto& entry : r.entries) on(entry);
  }
  void on(const CheckRequest& r) {
    append_u8(reply_, std::all_of(r.keys.begin(), r.keys.end(), [&](auto key) { return exists(key); }) ? 0 : 1);
  }
  void on(const CompareSetRequest& r) {
    const bool present = values_.contains(std::string(r.key));
    if (value(r.key) == r.expected) {
      put(r.key, std::string(r.desired));
      append_bytes(reply_, r.desired);
    } else {
      append_bytes(reply_, present ? value(r.key) : std::string(r.expected));
    }
  }
  void on(const AddRequest& r) {
    const std::int64_t sum = count(r.key) + r.amount;
    put(r.key, std::to_string(sum));
    append_i64(reply_, sum);
  }
  void on(const QueuePushRequest& r) {
    queues_[std::string(r.key)].emplace_back(r.payload);
    came(std::string(r.key), true);
  }
  void on(const QueuePopRequest& r) {
    auto& queue = queues_[std::string(r.key)];
    append_i64(reply_, static_cast<std::int64_t>(queue.size()));
    if (queue.empty()) return;
    append_bytes(reply_, queue.front());
    queue.erase(queue.begin());
  }
  void on(const WaitRequest& r) {
    forget(from_);
    Lack lack{from_, {}};
    for (const auto key : r.keys) {
      if (!exists(key)) lack.keys.emplace_back(key);
    }
    lack.keys.empty() ? append_u8(reply_, 0) : waits_.push_back(lack);
  }
  void on(const CancelWaitRequest&) {
    forget(from_);
    append_u8(reply_, 1);
  }
  void on(const BarrierRequest& r) {
    const std::int64_t arrived = count(r.key) + 1;
    values_[std::string(r.key)] = std::to_string(arrived);
    if (arrived >= r.world_size) {
      came(std::string(r.key), false);
      append_u8(reply_, 0);
    } else {
      forget(from_);
      waits_.push_back({from_, {std::string(r.key)}});
    }
  }

  std::string value(std::string_view key) const {
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? "" : found->second;
  }
  std::int64_t count(std::string_view key) const {
    return values_.contains(std::string(key)) ? std::stoll(value(key)) : 0;
  }
  bool exists(std::string_view key) const {
    const auto queue = queues_.find(std::string(key));
    return values_.contains(std::string(key)) || (queue != queues_.end() && !queue->second.empty());
  }
  void put(std::string_view key, std::string text) {
    values_[std::string(key)] = std::move(text);
    came(std::string(key), false);
  }
  void came(const std::string& key, bool only_one) {
    for (auto wait = waits_.begin(); wait != waits_.end();) {
      std::erase(wait->keys, key);
      if (!wait->keys.empty()) {
        ++wait;
        continue;
      }
      if (wait->connection == from_) {
        append_u8(reply_, 0);
      } else {
        pushed_.emplace_back(wait->connection, std::string(1, 0));
      }
      wait = waits_.erase(wait);
      if (only_one) return;
    }
  }
  void forget(ConnectionId connection) {
    std::erase_if(waits_, [&](const Lack& lack) { return lack.connection == connection; });
  }

  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<std::string>> queues_;
  std::vector<Lack> waits_;
  ConnectionId from_ = 0;
  std::string reply_;
  std::vector<Pushed> pushed_;
};

// Requests over few keys and connections, so that they meet. Values under "n" keys are always numbers.
class RequestMaker {
 public:
  explicit RequestMaker(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_.next() % limit; }

  Request make() {
    const std::string_view text = texts[below(std::size(texts))];
    const std::string_view other = texts[below(std::size(texts))];
    const auto amount = static_cast<std::int64_t>(below(5)) - 2;
    switch (below(17)) {
      case 0:
        return SetRequest{any(), text};
      case 1:
        return CompareSetRequest{any(), text, other};
      case 2:
        return GetRequest{any()};
      case 3:
        return AddRequest{any(), amount};
      case 4:
        return CheckRequest{several()};
      case 5:
        return CountKeysRequest{};
      case 6:
        return MultiGetRequest{several()};
      case 7:
        return MultiSetRequest{{{any(), text}, {any(), other}}};
      case 8:
        return CancelWaitRequest{};
      case 9:
        return QueuePushRequest{any(), text};
      case 10:
        return QueuePopRequest{any()};
      case 11:
        return QueueLengthRequest{any()};
      case 12:
        return BarrierRequest{any(), amount + 2};
      case 13:
        return AppendRequest{any(), "7"};
      case 14:
      case 15:
        return WaitRequest{several()};
      default:
        return DeleteKeyRequest{any()};
    }
  }

 private:
  std::string_view any() { return keys[below(std::size(keys))]; }
  std::vector<std::string_view> several() {
    std::vector<std::string_view> chosen(below(4));
    for (auto& key : chosen) key = any();
    return chosen;
  }

  static constexpr std::string_view keys[] = {"a", "b", "c", "d", "", "a key that needs the heap for its text"};
  static constexpr std::string_view texts[] = {"1", "2", "-3", "40"};
  Random random_;
};

TEST(StoreTableModel, BehavesAsTheNaiveStoreUnderRandomRequests) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RequestMaker maker(seed);
    StoreTable table;
    NaiveStore naive;
    for (int step = 0; step < 500; ++step) {
      const auto from = static_cast<ConnectionId>(maker.below(6));
      if (maker.below(40) == 0) {
        std::vector<Push> none;
        table.drop(from, false, none);
        naive.drop(from);
      }
      const Request request = maker.make();
      ASSERT_EQ(answer_of(table, from, request), naive.answer(from, request)) << "seed " << seed << " step " << step;
      ASSERT_EQ(table.waiting_connections(), naive.waiting_connections());
      for (const std::string& key : naive.long_values()) {
        const SetRequest anew{key, "1"};
        ASSERT_EQ(answer_of(table, from, anew), naive.answer(from, anew));
      }
    }
    std::vector<Push> none;
    for (ConnectionId connection = 0; connection < 6; ++connection) table.drop(connection, false, none);
    ASSERT_EQ(table.waiting_connections() + table.awaited_keys(), 0U) << "seed " << seed;
  }
}

}  // namespace launch::store_table_model_test
