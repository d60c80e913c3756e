#include "launch/app/end_exchange.hpp"

#include "launch/app/conversations.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration news_and_evidence = 4s;  // from the failure to the first signal to a worker elsewhere
constexpr Duration gathering_share = 1s;    // what the others wait longer than the one that gathers

std::string read_key(const std::string& prefix, int node) { return fmt::format("/{}/launch/read/{}", prefix, node); }

}  // namespace

std::string account_key(const std::string& prefix, int node) {
  return fmt::format("/{}/launch/ended/{}", prefix, node);
}

std::string together_key(const std::string& prefix) { return fmt::format("/{}/launch/verdict", prefix); }

Time most_for_end(const Config& config) {
  return later(now(), config.shutdown_timeout + config.kill_grace + news_and_evidence);
}

asio::awaitable<std::vector<NodeEnd>> EndExchange::share(StoreClient client, Place place, NodeEnd own) {
  std::vector<NodeEnd> known(1, own);
  const std::string read = place.to_gather ? "" : read_key(place.prefix, place.node_rank);
  client_.emplace(std::move(client));
  Operation tell = SetKeys{{{account_key(place.prefix, place.node_rank), to_json(known)}}};
  const auto told = co_await client_->perform(std::move(tell), later(now(), quick_answer));
  Result<std::vector<NodeEnd>> all = known;
  if (told && !hurried_) {
    // Named first: GCC 12 makes two of what is made inside of a condition.
    auto others = place.to_gather ? gather(std::move(place), std::move(own)) : receive(std::move(place));
    all = co_await std::move(others);
  }
  // Also when nothing was read: nobody is to wait for it.
  Operation done = SetKeys{{{read, "1"}}};
  if (told && !read.empty()) (void)co_await client_->perform(std::move(done), later(now(), quick_answer));
  client_.reset();
  if (all && !all->empty()) co_return *all;
  co_return known;
}

void EndExchange::hurry() {
  hurried_ = true;
  if (client_) client_->wake();
}

asio::awaitable<Result<std::vector<NodeEnd>>> EndExchange::gather(Place place, NodeEnd own) {
  KeyList keys;
  for (const int node : *place.to_gather) keys.push_back(account_key(place.prefix, node));
  KeyList present;
  while (!keys.empty()) {
    Operation wait = AwaitKeys{keys};
    auto waited =
        co_await client_->perform(std::move(wait), std::min(place.deadline, later(now(), progress_interval())));
    if (!waited) co_return waited.error();
    Operation look = CheckKeys{keys};
    auto looked = co_await client_->perform(std::move(look), later(now(), quick_answer));
    if (!looked) co_return looked.error();
    present.clear();
    const auto& there = std::get<Presence>(*looked).present;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (there.at(i)) present.push_back(keys[i]);
    if (present.size() == keys.size() || hurried_ || now() >= place.deadline) break;
    log_progress(fmt::format("the workers here have ended; waiting for those of the other nodes: {} of {} have ended",
                             present.size() + 1, keys.size() + 1));
  }
  std::vector<NodeEnd> all(1, std::move(own));
  KeyList read;
  if (!present.empty()) {
    Operation get = GetKeys{present};
    auto got = co_await client_->perform(std::move(get), later(now(), quick_answer));
    if (!got) co_return got.error();
    for (const std::string& account : std::get<Values>(*got).values) {
      auto nodes = parse_node_ends(account);
      if (!nodes) continue;  // that node has gone
      for (const NodeEnd& node : *nodes) read.push_back(read_key(place.prefix, node.node_rank));
      all.insert(all.end(), nodes->begin(), nodes->end());
    }
  }
  std::sort(all.begin(), all.end(), [](const NodeEnd& a, const NodeEnd& b) { return a.node_rank < b.node_rank; });
  Operation leave = SetKeys{{{together_key(place.prefix), to_json(all)}}};
  (void)co_await client_->perform(std::move(leave), later(now(), quick_answer));
  // The store may be ours, and end with us.
  Operation wait = AwaitKeys{read};
  if (!read.empty() && !hurried_) (void)co_await client_->perform(std::move(wait), later(now(), quick_answer));
  co_return all;
}

asio::awaitable<Result<std::vector<NodeEnd>>> EndExchange::receive(Place place) {
  place.deadline = later(place.deadline, gathering_share);
  const KeyList key(1, together_key(place.prefix));
  while (true) {
    Operation wait = AwaitKeys{key};
    auto waited =
        co_await client_->perform(std::move(wait), std::min(place.deadline, later(now(), progress_interval())));
    if (!waited) co_return waited.error();
    if (std::holds_alternative<Done>(*waited)) break;
    if (hurried_ || now() >= place.deadline) co_return std::vector<NodeEnd>();
    log_progress("the workers here have ended; waiting for those of the other nodes");
  }
  Operation get = GetKeys{key};
  auto got = co_await client_->perform(std::move(get), later(now(), quick_answer));
  if (!got) co_return got.error();
  co_return parse_node_ends(std::get<Values>(*got).values.at(0));
}

}  // namespace launch
