// The last word of a node to its user: the verdict on the console, and the files that were asked for.
//
// First what is shown, then what is written: a disk may stall. It is waited for 5 s.
#pragma once

#include "launch/app/session_runner.hpp"
#include "launch/core/agent/agent.hpp"
#include "launch/core/config/config.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/awaitable.hpp>

namespace launch {

struct EndFacts {
  Finish end;  // REQUIRES: with a failure
  Account own;
  Round round;
  bool formed = false;  // as far as this node has heard; if it has not, only a worker's failure gets more than a line
};

// Shares the accounts of all nodes first. All references must outlive it.
boost::asio::awaitable<void> report_end(const Config& config, SessionRunner& session, DiskThread& disk, EndFacts facts);

}  // namespace launch
