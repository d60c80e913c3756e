// The address that the command lines of a c10d job name, after the store of the job has moved: nobody is there. A
// launch that is started again there founds the job anew, since nobody tells it that the job lives. So the host of
// today looks there a few times each second, for as long as it hosts the store, and tells a store that has a job of
// this id where the job lives; that one gives way (gives_way() in core/c10d/succession) if it has the same program and
// settings. It tells nothing to other stores, and it never matters whether anybody is there. What does not understand
// is told less and less often. Called by ElasticStore, in a scope of its own.
#pragma once

#include "launch/core/c10d/succession.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/session/stage.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

struct OldAddress {
  Endpoint store;
  std::vector<std::uint16_t> ports;  // where it may be; empty: at that of `store`
  std::string run_id;
  NodeLimits nodes;  // of the job: another one may have the same id by chance
  CommonSettings common;
  MovedJob job;  // where that lives now
};

// Never ends by itself.
Talk<void> watch_old_address(Stage& stage, OldAddress old);

}  // namespace launch
