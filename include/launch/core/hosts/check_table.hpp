// What the check of hosts before a job has found, for people and for programs: rows of a host, a check, a level and a
// sentence become a table in which hosts with equal rows share a line, the worst first; or JSON, a line for each row;
// and the verdict. Used by core/hosts/doctor. Pure.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace launch {

// In the order in which they are shown.
inline constexpr std::array check_names{"login",  "launch", "folder", "job",     "port",      "python",
                                        "torch",  "gpus",   "driver", "machine", "processes", "clock",
                                        "limits", "shm",    "tmp",    "name",    "mtu",       "network"};

enum class CheckLevel {
  ok,
  warning,  // the job starts, but it may be slow or fail later
  fault     // the job fails
};

struct CheckRow {
  int node;           // its place in the list of hosts; -1: the machine on which launch was typed
  std::string check;  // a word that programs may rely on, one of check_names
  CheckLevel level = CheckLevel::ok;
  std::string detail;  // a sentence that does not name the host

  bool operator==(const CheckRow&) const = default;
};

// "n[1-7]  ok  python  3.11.2". The names are those of the hosts, by node. Of equal levels, the checks are in the order
// of check_names. Levels, hosts and words are aligned.
std::vector<std::string> check_table(const std::vector<CheckRow>& rows, const std::vector<std::string>& names);

// {"host":"n1","check":"clock","ok":true,"level":"ok","detail":"..."}, in the order of the hosts.
std::vector<std::string> check_lines(const std::vector<CheckRow>& rows, const std::vector<std::string>& names);

struct CheckVerdict {
  int exit_code = 0;  // 1: there is a fault
  std::string line;   // for people
};
CheckVerdict verdict_of(const std::vector<CheckRow>& rows, const std::vector<std::string>& names);

}  // namespace launch
