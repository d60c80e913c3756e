// Which process listens on a TCP port of this machine, for the message about a busy port. It is looked up only when
// that message must be written, because all of /proc may have to be read. It never fails: what cannot be found is left
// out of the message. The answer is for people: it decides nothing, except whether a port is worth waiting for.
#pragma once

#include <cstdint>
#include <string>

namespace launch {

// "pid 123 (python3 train.py)"; empty if the system does not tell (another user's process, another namespace).
// `proc` is the root of procfs; tests give a recorded tree.
std::string find_port_holder(std::uint16_t port, const std::string& proc = "/proc");

// No process has the port, but a connection has ended there, and for a minute the kernel lets nobody listen on it.
bool is_port_cooling(std::uint16_t port, const std::string& proc = "/proc");

}  // namespace launch
