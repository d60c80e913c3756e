#include "launch/app/end_exchange.hpp"

#include "launch/app/announcer.hpp"
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

constexpr Duration news_and_evidence = 12s;  // from the failure to the first signal to a worker elsewhere
constexpr Duration gathering_share = 1s;    // what the others wait longer than the one that gathers
constexpr Duration look_again = 2s;         // whether that one is still there

std::string read_key(const std::string& prefix, int node) { return fmt::format("/{}/launch/read/{}", prefix, node); }

}  // namespace

std::string account_key(const std::string& prefix, int node) {
  return fmt::format("/{}/launch/ended/{}", prefix, node);
}

std::string together_key(const std::string& prefix) { return fmt::format("/{}/launch/verdict", prefix); }

Time most_for_end(const Config& config) {
  return later(now(), config.shutdown_timeout + config.kill_grace + news_and_evidence);
}

asio::awaitable<Account> EndExchange::share(StoreClient client, Place place, Account own) {
  client_.emplace(std::move(client));
  const bool gathers = place.gatherer == place.node_rank;
  const std::string read = read_key(place.prefix, place.node_rank);
  const Status told = co_await set(account_key(place.prefix, place.node_rank), to_json(own));
  Result<Account> all = own;
  if (told && !hurried_) {
    // Named first: GCC 12 makes two of what is made inside of a condition.
    auto others = gathers ? gather(std::move(place), own) : receive(std::move(place));
    all = co_await std::move(others);
  }
  if (told && !gathers) (void)co_await set(read, "1");  // also when nothing was: nobody is to wait for it
  client_.reset();
  co_return all ? *all : own;
}

asio::awaitable<void> EndExchange::stay_out(StoreClient client, Place place) {
  client_.emplace(std::move(client));
  (void)co_await set(account_key(place.prefix, place.node_rank), "gone");
  client_.reset();
}

void EndExchange::hurry() {
  hurried_ = true;
  if (client_) client_->wake();
}

asio::awaitable<Result<Values>> EndExchange::get(KeyList keys) {
  Operation operation = GetKeys{std::move(keys)};
  auto got = co_await client_->perform(std::move(operation), later(now(), quick_answer));
  if (!got) co_return got.error();
  co_return std::get<Values>(*std::move(got));
}

asio::awaitable<Status> EndExchange::set(std::string key, std::string value) {
  Operation operation = SetKeys{{{std::move(key), std::move(value)}}};
  auto done = co_await client_->perform(std::move(operation), later(now(), quick_answer));
  if (!done) co_return done.error();
  co_return Status();
}

asio::awaitable<Result<Account>> EndExchange::gather(Place place, Account own) {
  KeyList keys;
  for (const int node : place.others) keys.push_back(account_key(place.prefix, node));
  KeyList present;
  while (!keys.empty()) {
    Operation wait = AwaitKeys{keys};
    const Time pause = std::min(place.deadline, later(now(), progress_interval()));
    auto waited = co_await client_->perform(std::move(wait), pause);
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
  Account all = std::move(own);
  KeyList read;
  if (!present.empty()) {
    auto got = co_await get(present);
    if (!got) co_return got.error();
    for (const std::string& text : got->values) {
      const auto account = parse_account(text);
      if (!account || account->nodes.size() != 1) continue;  // that node has gone
      read.push_back(read_key(place.prefix, account->nodes.front()));
      merge(all, *account);
    }
  }
  (void)co_await set(together_key(place.prefix), to_json(all));
  // The store may be ours, and end with us.
  Operation wait = AwaitKeys{read};
  if (!read.empty() && !hurried_) (void)co_await client_->perform(std::move(wait), later(now(), quick_answer));
  co_return all;
}

asio::awaitable<Result<Account>> EndExchange::receive(Place place) {
  const Time deadline = later(place.deadline, gathering_share);
  Announcer announcer(now());
  while (true) {
    Operation wait = AwaitKeys{KeyList(1, together_key(place.prefix))};
    auto waited = co_await client_->perform(std::move(wait), std::min(deadline, later(now(), look_again)));
    if (!waited) co_return waited.error();
    if (std::holds_alternative<Done>(*waited)) break;
    if (hurried_ || now() >= deadline) co_return Error{ErrorCode::timeout, "nobody gathers the accounts"};
    const auto of_gatherer = co_await get(KeyList(1, account_key(place.prefix, place.gatherer)));
    if (!of_gatherer) co_return of_gatherer.error();
    if (of_gatherer->values.at(0) == "gone") co_return Error{ErrorCode::closed, "who gathers the accounts has gone"};
    if (announcer.due()) log_progress("the workers here have ended; waiting for those of the other nodes");
  }
  auto got = co_await get(KeyList(1, together_key(place.prefix)));
  if (!got) co_return got.error();
  co_return parse_account(got->values.at(0));
}

}  // namespace launch
