// An AgentStore, what it answers and pushes, and a clock.
//
// Connections are called by number, nodes n1, n2, ...
#pragma once

#include "launch/core/c10d/agent_store.hpp"
#include "launch/core/c10d/rendezvous_pickle.hpp"
#include "launch/core/store/keys.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace launch::agent_store_test {

using namespace std::chrono_literals;
using Wish = Attendance::Wish;

inline const std::string key = state_key("job");
inline constexpr ConnectionId torchrun = 50;

inline std::string attendance(Wish wish, const std::string& name, std::int64_t round = -1) {
  Attendance said{.wish = wish,
                  .node = {name, 1, launch_local_id},
                  .member = {.role = "default", .local_world_size = 1},
                  .nodes = {2, 2},
                  .last_call = 30s,
                  .silence = 15s,
                  .round = round,
                  .admits = true,
                  .reason = ""};
  return to_json(said);
}

inline std::string bytes_of(std::string_view text) {
  std::string out;
  append_bytes(out, text);
  return out;
}

struct Store {
  Instant instant() const {
    return {time, WallTime(std::chrono::duration_cast<WallClock::duration>(time.time_since_epoch()))};
  }
  std::string ask(ConnectionId from, const Request& request) {
    std::string reply;
    status = store.apply(request, {from, instant(), reply, pushes});
    return reply;
  }
  std::string attend(ConnectionId from, Wish wish, std::int64_t round = -1, const std::string& where = key) {
    return ask(from, AttendRequest{where, attendance(wish, "n" + std::to_string(from), round)});
  }
  std::string get(const std::string& name) { return ask(torchrun, GetRequest{name}).substr(8); }
  ElasticState state(const std::string& name = key) { return *read_state(get(name)); }
  std::string compare_set(const std::string& expected, const ElasticState& desired) {
    return ask(torchrun, CompareSetRequest{key, expected, write_state(desired)}).substr(8);
  }
  // What has been pushed to the connection since it was asked last.
  std::string pushed(ConnectionId to) {
    std::string bytes;
    for (Push& push : pushes)
      if (push.to == to) bytes += std::exchange(push.bytes, {});
    return bytes;
  }

  AgentStore store;
  Time time{1h};
  Status status;
  std::vector<Push> pushes;
};

template <class News>
News heard(const std::string& bytes) {
  EXPECT_GT(bytes.size(), 9U);
  if (bytes.size() <= 9) return {};
  EXPECT_EQ(bytes[0], '\0');
  EXPECT_EQ(static_cast<std::size_t>(read_i64(bytes.data() + 1)), bytes.size() - 9) << "one answer";
  const auto news = parse_news(std::string_view(bytes).substr(9));
  EXPECT_TRUE(news);
  const News* found = news ? std::get_if<News>(&*news) : nullptr;
  EXPECT_NE(found, nullptr) << bytes.substr(9);
  return found == nullptr ? News{} : *found;
}

}  // namespace launch::agent_store_test
