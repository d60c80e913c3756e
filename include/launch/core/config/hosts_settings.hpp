// What the user says about the hosts of one command (--hosts and its companions) becomes the plan of the head: who the
// nodes are, how launch is started there, and with which command line and environment. Pure; commands reads the facts.
// An error names the option and what would be right; nothing is started.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/hosts/head.hpp"
#include "launch/core/hosts/host_entry.hpp"
#include "launch/core/hosts/start_line.hpp"
#include "launch/core/options/option_line.hpp"
#include "launch/core/options/options.hpp"

#include <string>
#include <vector>

namespace launch {

struct HeadFacts {
  Environment env;
  std::vector<std::string> own_names;  // of this machine: its names and addresses
  std::string folder;                  // that launch was started in
  int umask = 022;
  std::string self;           // the path of this program
  std::size_t self_size = 0;  // of its file
  std::string machine;        // as "uname -m" says it
  std::string host_file;      // the text of --hostfile
  std::string batch_file;     // the text of the file that a batch system names, for --hosts=auto
  std::string fresh_id;       // that nobody else has
  bool terminal = false;      // standard output is one
};

struct HostsPlan {
  HeadPlan head;
  std::vector<HostEntry> hosts;  // by node rank
  StartChoice start;
  VerdictChoice verdict;
  Verbosity verbosity = Verbosity::usual;
  std::vector<std::string> notices;
};

// Whether the line speaks of hosts at all: to start a job on them, or to check them.
bool names_hosts(const Options& options);

Result<HostsPlan> plan_hosts(const Options& options, const OptionLine& line, const HeadFacts& facts);

// For --explain.
std::string hosts_text(const HostsPlan& plan);

}  // namespace launch
