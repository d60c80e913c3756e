// How the nodes of a job find each other and hear from each other, as AgentLoop sees it. News come as events to the
// mailbox. One implementation for nodes that know their rank, one for c10d, one for a job of one node. None of them
// starts or ends a worker, and none waits in a call that is not a coroutine.
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/verdict/failure_report.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <boost/asio/awaitable.hpp>

namespace launch {

class Rendezvous {
 public:
  virtual ~Rendezvous();

  // Opens the listener, if this node is known to have one: before anything else, so that a busy port costs nothing. No
  // signal is heard yet, so it waits for nothing.
  virtual Status open() = 0;

  // The next round: RendezvousDone or RendezvousFailed. Afterwards PeerFailed, MembersChanged and StoreLost may come.
  // `admits`: nodes that come may break it up. `restarts`: of the job, as far as this node knows.
  virtual void join(bool admits, int restarts) = 0;
  // The round that is being joined is given up.
  virtual void stop_joining() = 0;

  // The other nodes would go on if this one left.
  virtual bool may_leave() const { return false; }

  // How long this node's loop may stand still before the others of the round may go on without it; zero: for ever.
  virtual Duration longest_stall() const { return Duration::zero(); }

  // Tells the other nodes, unless somebody has told them of another failure first: the first one comes as PeerFailed,
  // ahead of what waits.
  virtual boost::asio::awaitable<void> tell(Failure failure) = 0;

  // BarrierDone comes when every node has come here, or too long after.
  virtual void enter_barrier() = 0;

  // After the failure `first`, when no worker is left here: what is known of the end of the workers of all launch
  // nodes, once all of them have told, or too late. This node's own account is always there.
  virtual boost::asio::awaitable<Account> share(Account own, Failure first) = 0;

  // This node's last word; returns when the others no longer need it.
  virtual boost::asio::awaitable<void> end(bool failed) = 0;
  // share() and end() are to return soon.
  virtual void hurry() = 0;
};

}  // namespace launch
