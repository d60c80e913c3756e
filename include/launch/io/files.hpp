// Small files: bounded reads, whole writes, and those that a worker reads or writes. Everything here may wait for a
// disk: on the loop only for files that are in memory, /proc or /sys among them; others belong on io/disk_thread.
// Errors are the words of the system.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/fd.hpp"

#include <cstddef>
#include <string>

namespace launch {

// At most `limit` bytes of the file; empty when it cannot be read.
std::string read_file(const std::string& path, std::size_t limit);

// The last `limit` bytes of a file that may still grow; empty when it cannot be read.
std::string read_tail(const std::string& path, std::size_t limit);

// 0 when it cannot be told.
std::size_t file_size(const std::string& path);

// The whole of a small file, made or overwritten. The error's message is the system's reason; a pipe that nobody reads
// has one, too.
Status write_file(const std::string& path, const std::string& text);

// True when the path, or the nearest folder above that is there, is served by another machine or by a process (FUSE):
// it may stall for as long as that pleases.
bool is_on_network(const std::string& path);

// True when what is there is kept in memory, so that no disk and no server can stall it.
bool is_in_memory(const std::string& path);

bool is_link(const std::string& path);

// Opens a file for what a worker writes, empty, made where it is missing.
Result<Fd> open_output(const std::string& path);

// The same for what launch writes of it, at the end of the file, and may read again.
Result<Fd> open_log(const std::string& path);

// Opens a file, or /dev/null, as a worker's input.
Result<Fd> open_input(const std::string& path);

// Why a file, pipe or socket could not be had: what errno says, and the limit to raise if that is the cause.
std::string why_not_opened(int error);

}  // namespace launch
