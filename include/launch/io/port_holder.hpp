// Who listens on a TCP port of this machine, for the message about a busy port. Looked up only when the message is
// about to be said: all of /proc may have to be read. It never fails: what cannot be found is left out of the message.
// The answer is for people: nothing is decided by it, except whether a port is worth waiting for.
#pragma once

#include <cstdint>
#include <string>

namespace launch {

// "pid 123 (python3 train.py)"; empty when the system does not tell (another user's process, another namespace).
// `proc` is the root of procfs; tests give a recorded tree.
std::string find_port_holder(std::uint16_t port, const std::string& proc = "/proc");

// Nobody has the port, but the kernel keeps it for a minute after a connection that has ended there, and lets nobody
// listen on it.
bool is_port_cooling(std::uint16_t port, const std::string& proc = "/proc");

}  // namespace launch
