// A failure of this node's workers that the others are being told of, while it may be that the host of the store has
// just ended: workers notice the end of another node's workers as fast as agents notice that of its agent. If it turns
// out that the host has ended, and another node can follow it, the failure counts as a consequence of that, and is told
// to nobody. Otherwise it is told as any other.
//
// Used by ElasticSession, one failure at a time. It decides nothing about hosts, and knows no time.
#pragma once

#include "launch/core/session/stage.hpp"

namespace launch {

class Excuse {
 public:
  explicit Excuse(Stage& stage) : telling_(stage), known_(stage) {}

  // Carries `telling` out, unless the failure is excused before that is done.
  Talk<void> unless_excused(Talk<void> telling);
  // A failure is being told.
  bool waits() const { return waits_; }
  // The host has ended, and another one will follow.
  void excuse();

 private:
  Talk<void> run(Talk<void> telling);

  bool waits_ = false;
  Scope telling_;
  Bell known_;
};

}  // namespace launch
