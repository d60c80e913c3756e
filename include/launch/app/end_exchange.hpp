// How the nodes of a failed job tell each other how their workers ended, so that each can show the whole: every node
// leaves its account at the store, one of them gathers these and leaves what they come to.
//
// For launch nodes only. A store that goes away ends the wait; a node that gives no account, at the deadline at last.
#pragma once

#include "launch/core/config.hpp"
#include "launch/core/time.hpp"
#include "launch/core/verdict.hpp"
#include "launch/io/store_client.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace launch {

// The key of a node's account, and that of all accounts together; `prefix` is that of the round's keys.
std::string account_key(const std::string& prefix, int node);
std::string together_key(const std::string& prefix);

// Until when a node's workers may take to end, at the longest.
Time most_for_end(const Config& config);

class EndExchange {
 public:
  // A store that has gone is not worth a longer wait.
  static constexpr Duration to_connect = std::chrono::milliseconds(500);

  struct Place {
    std::string prefix;  // of the round's keys
    int node_rank = 0;
    int gatherer = 0;
    std::vector<int> others;  // the other nodes, at the one that gathers
    Time deadline = never;
  };

  // What is known of all nodes by then; this node's own at least.
  boost::asio::awaitable<Account> share(StoreClient client, Place place, Account own);
  // For a node that leaves a job which may go on: nobody is to wait for its account.
  boost::asio::awaitable<void> stay_out(StoreClient client, Place place);
  // share() is to return soon.
  void hurry();

 private:
  boost::asio::awaitable<Result<Account>> gather(Place place, Account own);
  boost::asio::awaitable<Result<Account>> receive(Place place);
  boost::asio::awaitable<Result<Values>> get(KeyList keys);
  boost::asio::awaitable<Status> set(std::string key, std::string value);

  std::optional<StoreClient> client_;
  bool hurried_ = false;
};

}  // namespace launch
