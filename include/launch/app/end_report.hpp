// The final report of a node to its user: the verdict on the console, and the files that the user asked for. JobRecord
// calls it once.
//
// It shows the verdict first and writes the files afterwards, because a disk may stall. It waits 5 s for the disk.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/awaitable.hpp>

namespace launch {

// Writes to the error file of the process that started launch, as soon as the failure is known. `disk` must outlive the
// work that it is given.
void tell_parent(const Config& config, const Failure& first, DiskThread& disk);

// `report` must be of a job that has failed. If no round has formed, only a worker's failure gets more than one line.
// All references must outlive the coroutine.
boost::asio::awaitable<void> report_end(const Config& config, Report report, DiskThread& of_parent, DiskThread& disk);

}  // namespace launch
