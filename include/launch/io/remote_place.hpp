// What a launch that was started for a node (`launch --remote`) finds and makes on its host: the folder that it works
// in, the identity of the machine, files that exist in memory only and go with this process, and a folder for output
// that is removed again. Errors are for people. Used by app/remote_run and app/head_run; decides nothing.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/fd.hpp"

#include <string>
#include <vector>

namespace launch {

// Goes to the folder, for good. An error if it is not there, or if this user may not work in it.
Status enter_folder(const std::string& folder, int umask);

// The folder that this process works in, as `named` names it if that leads there (an automounted home has two names).
// Empty: it is gone.
std::string current_folder(const std::string& named);
int current_umask();

// Of the machine since it was started; the same for all of its containers and networks. Empty if it is not known.
std::string boot_id();

std::string own_hostname();

// The standard input is a pipe, a file or a socket; not a terminal, and not /dev/null.
bool has_input();

// Its processor: "x86_64".
std::string machine();

// The path of this program's file.
std::string self_path();

struct NamedAddress {
  std::string interface;
  std::string address;
};

// Those that other hosts may reach.
std::vector<NamedAddress> own_addresses();

// The interface that has the way to an address, which may be one of this host; empty if that is not known. `own_ones`
// are those that own_addresses() has found: to ask the kernel again costs more than all else here.
std::string interface_towards(const std::string& address, const std::vector<NamedAddress>& own_ones);

// A file without a name. Another process of this user can open it by its path as long as this one lives.
class MemoryFile {
 public:
  MemoryFile();
  bool valid() const { return fd_.valid(); }
  std::string path() const;
  // What was written to it, at most so much.
  std::string text(std::size_t most) const;

 private:
  Fd fd_;
};

// Where files go that nobody keeps: TMPDIR, or /tmp.
std::string temp_folder();

// A new folder that only this user can look into; empty if it cannot be made.
std::string make_private_folder(const std::string& name);
// Whether such a folder can be made, and a file in it be written. The error says what to do.
Status may_keep_files();
void remove_folder(const std::string& folder);

// From now on this process does not die with its parent: it ends when its input does, and its node before it.
void end_with_input_only();

}  // namespace launch
