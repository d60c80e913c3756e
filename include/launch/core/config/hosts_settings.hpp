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

// A file that may be read, and how that went.
struct FileText {
  std::string path;
  Result<std::string> text;
};

struct HeadFacts {
  Environment env;
  std::vector<std::string> own_names;  // of this machine: its names and addresses
  std::string folder;                  // that launch was started in
  int umask = 022;
  std::string self;                     // the path of this program
  std::size_t self_size = 0;            // of its file
  std::string machine;                  // as "uname -m" says it
  std::string host_file;                // the text of --hostfile
  std::string batch_file;               // the text of the file that a batch system names, for --hosts=auto
  std::vector<FileText> deepspeed_env;  // those of DeepSpeed's files of variables that are there; the last wins
  std::string fresh_id;                 // that nobody else has
  bool terminal = false;                // standard output is one
  bool input = false;                   // standard input is a pipe or a file
};

struct HostsPlan {
  HeadPlan head;
  std::vector<HostEntry> hosts;  // by node rank
  StartChoice start;
  std::vector<std::string> local_env;  // NAME=VALUE: what the launch of a node on this machine starts with
  std::vector<std::string> file_env;   // NAME=VALUE: what DeepSpeed's files say; --env comes before that
  std::string parent_error_file;       // as in Config
  std::vector<int> signals;            // end the job
  Preemption preemption;               // which one warns it, and what becomes of its exit code
  std::string gather_folder;           // gets the files of the workers' output of all hosts; empty: nothing does
  std::string detach_file;             // gets what is said, while the job runs in the background; empty: it does not
  VerdictChoice verdict;               // with detach_file, JSON goes to a file of its own
  Verbosity verbosity = Verbosity::usual;
  std::vector<std::string> notices;
};

// Whether the line speaks of hosts at all: to start a job on them, or to check them.
bool names_hosts(const Options& options);

Result<HostsPlan> plan_hosts(const Options& options, const OptionLine& line, const HeadFacts& facts);

}  // namespace launch
