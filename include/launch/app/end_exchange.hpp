// How the nodes of a failed job tell each other how their workers ended, so that each can show the whole: every node
// leaves its account at the store, one of them gathers these and leaves them together.
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
  struct Place {
    std::string prefix;  // of the round's keys
    int node_rank = 0;
    std::optional<std::vector<int>> to_gather;  // the other nodes, at the one that gathers
    Time deadline = never;
  };

  // A store that has gone is not worth a longer wait.
  static constexpr Duration to_connect = std::chrono::milliseconds(500);

  // What is known of all nodes by then; this node's own at least.
  boost::asio::awaitable<std::vector<NodeEnd>> share(StoreClient client, Place place, NodeEnd own);
  // share() is to return soon.
  void hurry();

 private:
  boost::asio::awaitable<Result<std::vector<NodeEnd>>> gather(Place place, NodeEnd own);
  boost::asio::awaitable<Result<std::vector<NodeEnd>>> receive(Place place);

  std::optional<StoreClient> client_;
  bool hurried_ = false;
};

}  // namespace launch
