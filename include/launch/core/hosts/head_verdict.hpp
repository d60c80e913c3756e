// The report of a job of `launch --hosts` for which no node has sent one: hosts that cannot take part, a signal before
// anything was started, connections that are all lost. Used by core/hosts/head, which has it written in the form of
// --verdict=json; people have read lines about it already. And what the report of a node does not know: the hosts that
// were lost before. Pure. It never fails.
#pragma once

#include "launch/core/hosts/connection_words.hpp"
#include "launch/core/hosts/head_plan.hpp"
#include "launch/core/hosts/host_table.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace launch {

struct HeadFailure {
  Failure::Kind kind = Failure::Kind::start;
  int exit_code = 1;
  std::string what;                   // a clause
  std::vector<HostProblem> problems;  // at most one for each host
};

// One line of JSON with the members of core/verdict's, as far as they apply, and "problems", a list of {host, reason,
// exit_code}. The root cause names a host if there is only one problem.
std::string head_verdict(const HeadPlan& plan, const HeadFailure& failure);

// The end of a node, as a part of the job's: the first node that has a report has the job's, and its exit code.
void add_end(FinishHead& job, const NodeEnd& node);

// Whether that is all of a verdict in JSON.
bool is_whole(const std::string& json);

// Of a verdict in JSON: its node has lost the job's store, and does not know why.
bool blames_the_store(const std::string& json);

// Of a verdict in JSON: the failure that ended the job.
std::optional<Failure> cause_of(const std::string& json);

// The verdict of a node, with "problems" as above: hosts that were lost before the job ended. REQUIRES: is_whole(json).
std::string verdict_with(std::string json, const std::vector<HostProblem>& losses);

// The same for the report for people: one line more for each such host, or for several with the same problem.
std::string report_with(std::string report, const std::vector<HostProblem>& losses);

}  // namespace launch
