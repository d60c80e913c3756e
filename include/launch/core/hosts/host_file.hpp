// The text of a host file, as --hostfile names it, in any dialect that is around: Open MPI and PRRTE ("n1 slots=4
// user=me port=2222", "^n3"), DeepSpeed and Horovod ("n1 slots=8"), MPICH and Intel MPI ("n1:8 binding=..."), PBS, LSF
// and machine files (the name once for each slot), SGE's PE_HOSTFILE ("n1 8 queue range"); ranges in names, and "#"
// comments. Used by the head of --hosts. Pure; opens no file. An error is one sentence, with the line if it has one
// (usage); the caller writes the file's name in front of it.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/hosts/host_entry.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct HostFile {
  std::vector<HostEntry> hosts;      // in the order of their first lines; at least one, none is a spare
  bool deepspeed = false;            // each line is NAME slots=N and nothing else: a host file of DeepSpeed or Horovod
  std::vector<std::string> notices;  // what was ignored, a sentence each
};

// At most 8 MiB, in which at most 65,536 hosts are named.
// A host on several lines is an error, except: no line of the file has a count (then the lines are counted, for all
// hosts), or both lines are SGE's, whose queues are added. "^NAMES" takes hosts away, wherever it stands.
Result<HostFile> parse_host_file(std::string_view text);

}  // namespace launch
