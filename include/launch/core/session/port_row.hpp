// Where nothing but a number of the job chooses the port of node 0, another program or another job may have it. Then
// there is a row of ports: node 0 takes the first that is free, and the others look for the one where a store has node
// 0's claim to the rank in this very job. A store of another job is left alone again. Used by StaticSession; the ports
// are in StaticChoice. The stage must outlive the talks.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/session/store_link.hpp"

#include <functional>
#include <string>

namespace launch {

// Listens on the first port of nodes.ports that is free, which becomes that of nodes.store; the answer is that of the
// last try. Without a row, on the port of nodes.store alone.
Talk<Listening> listen_in_row(Stage& stage, StaticChoice& nodes);

struct RowSearch {
  std::string run_id;
  Time deadline;
  std::function<void(const Error&)> on_retry;  // is told after each try in vain why node 0 is not at the first port
};

// The connection at which node 0 was found; its port becomes that of nodes.store. The first port at which no other job
// was seen is tried again before each of the others, and the longer the look-up of the name takes, the longer is each
// try. An error comes at the deadline. REQUIRES: there is a row.
Talk<Result<StoreLink>> find_in_row(Stage& stage, StaticChoice& nodes, RowSearch search);

}  // namespace launch
