// Why a connection to a host could not be made or has ended, in words for people: what ssh (or another program that
// starts launch there) has written and its exit code become a reason with what to do about it, and equal reasons of
// several hosts become one line with the hosts folded: "n[3-4]: ssh does not know the name ...". Used by the head of
// launch --hosts. Pure. What ssh writes is text of strangers: it is bounded and shown without control characters.
// Never an error: what is not known becomes the exit code and the last line of standard error.
//
// Source: the texts of OpenSSH 9.2, srun 22.05 and usual shells, as recorded in the test; those of docker and kubectl
// from their manuals.
#pragma once

#include "launch/core/hosts/host_fold.hpp"
#include "launch/core/job/job.hpp"

#include <string>
#include <vector>

namespace launch {

// How a connection ended.
struct LostConnection {
  std::string program;    // that made it, as in "ssh"
  std::string host;       // as the user wrote it
  ExitStatus status;      // of that program
  std::string errors;     // the last that it wrote to standard error
  std::string noise;      // what came from the host in place of a greeting
  int port = 22;          // unless ssh's text names another
  int patience = 10;      // seconds that the connection may take: ssh's ConnectTimeout
  bool greeted = false;   // the launch there had answered
  std::string starter{};  // the host that it went through, if the connection to that one has ended
};

// Something that is wrong on one host. `reason` begins after "HOST: ".
struct HostProblem {
  std::string host;
  std::string reason;
  int exit_code = 1;  // 2: the command line's fault; 124: too late
};

// One reason, in one line of at most 400 bytes, with what would help. It does not name the host, so that equal reasons
// of several hosts can be folded.
HostProblem explain(const LostConnection& lost);

// sshd has closed the connection before it said anything, as it does if too many are being made (MaxStartups): another
// try a little later may succeed. False for all other ends.
bool may_try_again(const LostConnection& lost);

// There is no launch where one was looked for, or one that is too old.
bool lacks_launch(const LostConnection& lost);

// One line for each reason, "HOSTS: REASON", those of most hosts first: at most 20, then "and N more hosts".
std::vector<std::string> fold_problems(const std::vector<HostProblem>& problems);

}  // namespace launch
