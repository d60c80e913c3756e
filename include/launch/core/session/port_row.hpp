// Where nothing but a number of the job chooses the port of node 0, another program or another job may have it. Then
// there is a row of ports: the node that hosts the store takes the first that is free, and the others look for the one
// where a store has the claim of node 0 in this very job. A store of another job is left alone again. Used by
// StaticSession and ElasticStore; the ports are in StaticChoice and C10dChoice. The stage must outlive the talks.
#pragma once

#include "launch/core/job/endpoint.hpp"
#include "launch/core/session/store_link.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace launch {

// Listens on the first port of the row that is free, which becomes that of `store`; the answer is that of the last try.
// Without a row, on the port of `store` alone.
Talk<Listening> listen_in_row(Stage& stage, Endpoint& store, std::vector<std::uint16_t> row);

struct RowSearch {
  std::string run_id;
  Time deadline;
  std::function<void(const Error&)> on_retry;  // is told after each try in vain why it is not at the first port
};

// The connection at which the store was found; its port becomes that of `store`. The first port at which no other job
// was seen is tried again before each of the others, and the longer the look-up of the name takes, the longer is each
// try. An error comes at the deadline. REQUIRES: there is a row.
Talk<Result<StoreLink>> find_in_row(Stage& stage, Endpoint& store, std::vector<std::uint16_t> row, RowSearch search);

}  // namespace launch
