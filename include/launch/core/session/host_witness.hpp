// A connection of this node to the process that hosts its c10d job's store, on which this node is silent: only its end
// is of interest. If that process ends, its kernel closes the connection in order. It resets those on which something
// has come that the process has not read, as it may have on any other connection. A host that gives this node up resets
// this one, too (core/c10d/witnesses), so the witness never tells of the end of a host that has done so before.
//
// Used by ElasticStore. It never tells by itself, and knows nothing of a host that is only silent.
#pragma once

#include "launch/core/session/store_link.hpp"

#include <optional>

namespace launch {

class HostWitness {
 public:
  explicit HostWitness(Stage& stage) : stage_(stage), again_(stage), ended_(stage), scope_(stage) {}

  // `attend`: says to the host whose witness it is. If there is no connection, or it is lost, it is tried again.
  void watch(Endpoint store, Operation attend);
  // Another store, or none.
  void forget();
  // Whether the process has ended, as far as is known at `by`.
  Talk<bool> has_seen_end(Time by);

 private:
  Talk<void> keep(Endpoint store, Operation attend);

  Stage& stage_;
  std::optional<StoreLink> link_;
  bool watches_ = false;
  bool is_due_ = false;  // to be tried again at once
  bool saw_end_ = false;
  Bell again_;  // the host may know this node now
  Bell ended_;
  Scope scope_;
};

}  // namespace launch
