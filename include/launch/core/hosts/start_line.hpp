// The command line that starts a launch on a host and has its standard streams: that of ssh, of srun, of the user's own
// program, or launch itself if the host is this machine. Used by the head of launch --hosts. Pure. Names of hosts and
// users are checked (core/hosts/host_word), so that none of them is an option or means anything to a shell. The command
// for the other side is the same for every host: who the host is, and all that is secret, goes through the streams.
#pragma once

#include "launch/core/hosts/host_entry.hpp"

#include <string>
#include <vector>

namespace launch {

struct StartChoice {
  enum class By {
    ssh,
    srun,     // of a Slurm allocation
    command,  // of the user
  };
  By by = By::ssh;
  std::vector<std::string> ssh;        // the program and its options
  std::string command;                 // for the shell, with {host} and {command}
  std::string self;                    // the path of this launch
  std::size_t self_size = 0;           // of its file, in bytes
  std::string machine;                 // as "uname -m" says it
  std::vector<std::string> own_names;  // of this machine
};

bool is_here(const HostEntry& host, const StartChoice& choice);
// What runs here is the client of a launch over there, and that launch ends its node if its client is killed. A launch
// of this machine may be killed with its node.
bool is_client(const HostEntry& host, const StartChoice& choice);

// argv; the program is looked for on PATH unless it has a slash. With `copies`, for ssh alone, the other side first
// reads the file of this launch from its standard input, and runs that; it removes the copy itself (copy_variable says
// where it is).
std::vector<std::string> start_line(const HostEntry& host, const StartChoice& choice, bool copies = false);

constexpr const char* copy_variable = "LAUNCH_COPY";

// "ssh", for messages.
std::string starter_name(const StartChoice& choice);

// "me@n1", "n1": as messages name it.
std::string shown_host(const HostEntry& host);

}  // namespace launch
