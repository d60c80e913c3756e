// The last word of a node to its user: the verdict on the console, and the files that were asked for. Used by
// JobRecord, once.
//
// First what is shown, then what is written: a disk may stall. It is waited for 5 s.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/awaitable.hpp>

namespace launch {

// In the file of whoever started launch, as soon as the failure is known. `disk` must outlive what it is given.
void tell_parent(const Config& config, const Failure& first, DiskThread& disk);

// `report` is of a job that has failed. If no round has formed, only a worker's failure gets more than a line. All
// references must outlive it.
boost::asio::awaitable<void> report_end(const Config& config, Report report, DiskThread& disk);

}  // namespace launch
