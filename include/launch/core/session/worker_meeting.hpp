// Where the workers of a c10d round meet: in the store of the agent of rank 0, which is ours if this node leads. Before
// they meet, nothing of the workers of earlier rounds is left there. Used by ElasticSession. It never touches the keys
// of the workers of a running round.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/meeting_place.hpp"
#include "launch/core/session/store_link.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class WorkerMeeting {
 public:
  // All of these must outlive the object.
  WorkerMeeting(Stage& stage, const Config& config, const ElasticSettings& settings)
      : stage_(stage), config_(config), settings_(settings) {}

  // MASTER_ADDR and MASTER_PORT of the round, by its keys on `control`. When this returns, no key of an earlier round
  // is left there; a warning says so if torchrun's store keeps some.
  Talk<Result<Endpoint>> agree(StoreLink& control, RoundFormed formed, std::string own_address);

  // Writes these keys for other nodes, if the round broke up before this node had done so. Of a store of torchrun it
  // removes no keys.
  Talk<void> say_late(StoreLink& control, RoundFormed formed, std::string own_address);

  // This node has led a round: workers of other nodes may depend on its store.
  bool hosts() const { return port_ != 0; }

 private:
  Talk<Result<Endpoint>> lead(StoreLink& control, std::int64_t round, std::string own_address);
  Talk<Result<Endpoint>> follow_torchrun(StoreLink& control, RoundFormed formed);
  Talk<Result<Endpoint>> find_master(StoreLink& control, RoundFormed formed);
  Talk<Result<std::vector<SaidPlace>>> look_for_places(StoreLink& control, std::int64_t round, Time deadline);
  Talk<Result<Endpoint>> read_master(StoreLink& control, std::int64_t round, Time deadline);
  Talk<Status> say_master(StoreLink& control, std::int64_t round, Endpoint master);
  KeyList master_keys(std::int64_t round) const;
  Talk<Result<Endpoint>> open_store(std::string own_address);
  Talk<Status> clear_foreign_store(Endpoint master);

  Stage& stage_;
  const Config& config_;
  const ElasticSettings& settings_;
  std::uint16_t port_ = 0;                // of our own store
  std::optional<std::int64_t> fenced_;    // the last round, if it was emptied for that
  std::map<NodeDesc, Endpoint> masters_;  // by torchrun leader, which writes it once, in the first round that it leads
};

}  // namespace launch
