// Where the workers of a c10d round meet: in the store of rank 0's agent, which is ours when this node leads. Before
// they do, nothing is left there of the workers before them. Used by ElasticSession. It never touches the keys of the
// workers of a round that runs.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/meeting_place.hpp"
#include "launch/io/store_client.hpp"
#include "launch/io/store_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <map>
#include <string>
#include <vector>

namespace launch {

class WorkerMeeting {
 public:
  // `config` must outlive the object.
  WorkerMeeting(const boost::asio::any_io_executor& executor, const Config& config);

  // MASTER_ADDR and MASTER_PORT of the round, by its keys on `control`. When this returns no key of an earlier round is
  // left there.
  boost::asio::awaitable<Result<Endpoint>> agree(StoreClient& control, RoundFormed formed, std::string own_address);

  // The same for others, of a round that was broken before this node had said it; nobody's keys are taken away.
  boost::asio::awaitable<void> say_late(StoreClient& control, RoundFormed formed, std::string own_address);

  // This node has led a round: workers of others may depend on it.
  bool hosts() const { return store_.port() != 0; }

 private:
  boost::asio::awaitable<Result<Endpoint>> find_master(StoreClient& control, RoundFormed formed);
  boost::asio::awaitable<Result<std::vector<SaidPlace>>> look_for_places(StoreClient& control, std::int64_t round,
                                                                      Time deadline);
  boost::asio::awaitable<Result<Endpoint>> read_master(StoreClient& control, std::int64_t round, Time deadline);
  boost::asio::awaitable<Status> say_master(StoreClient& control, std::int64_t round, Endpoint master);
  KeyList master_keys(std::int64_t round) const;
  Result<Endpoint> open_store(const std::string& own_address);
  boost::asio::awaitable<Status> clear_foreign_store(Endpoint master);

  const Config& config_;
  StoreServer store_;
  Random random_;
  std::map<NodeDesc, Endpoint> masters_;  // by leader; torchrun's, who say it once, in the first round that they lead
};

}  // namespace launch
