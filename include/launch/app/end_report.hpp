// The final report to the user: the verdict on the console, and the files that the user asked for. Called once, by the
// JobRecord of a node, or by the head of launch --hosts.
//
// It shows the verdict first and writes the files afterwards, because a disk may stall. It waits 5 s for each file. A
// text that the user wants in a file comes first: the console gets it only if the disk does not take it.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace launch {

// Writes to the error file of the process that started launch, as soon as the failure is known. `disk` must outlive the
// work that it is given.
void tell_parent(const Config& config, const Failure& first, DiskThread& disk);

// `report` must be of a job that has failed. If no round has formed, only a worker's failure gets more than one line.
// All references must outlive the coroutine.
boost::asio::awaitable<void> report_end(const Config& config, Report report, DiskThread& of_parent, DiskThread& disk);

struct HostsReport {
  std::string text, json;         // of a job that has failed; each may be empty
  VerdictChoice choice;           // how it is shown, and the file
  std::string parent_error_file;  // as in Config
};

// The same at the end of a job of launch --hosts. The reference must outlive the coroutine.
boost::asio::awaitable<void> report_end_of_hosts(HostsReport report, DiskThread& disk);

}  // namespace launch
