// Small files: bounded reads, whole writes, and files that a worker reads or writes. Everything here may wait for a
// disk. So the loop uses it only for files in memory, such as those in /proc and /sys; others belong on io/disk_thread.
// Errors are the system's words.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/io/fd.hpp"

#include <cstddef>
#include <string>

namespace launch {

// At most `limit` bytes of the file; empty when it cannot be read.
std::string read_file(const std::string& path, std::size_t limit);

// All of a file that the user has named, which may be a pipe; "-" is standard input. An error if it cannot be read or
// has more bytes than `limit`.
Result<std::string> read_whole(const std::string& path, std::size_t limit);

// Whether there is a regular file, and it was changed at this time or later.
bool was_written_since(const std::string& path, WallTime since);

// The last `limit` bytes of a file that may still grow; empty when it cannot be read.
std::string read_tail(const std::string& path, std::size_t limit);

// 0 if it is not known.
std::size_t file_size(const std::string& path);

// Writes the whole of a small file, which is made or overwritten. The error's message is the system's reason. A pipe
// that nobody reads is an error, too.
Status write_file(const std::string& path, const std::string& text);

// What is there, if anything, can be replaced as a whole: it is a regular file. Otherwise the error says what it is.
Status may_replace(const std::string& path);

// Whether write_file() would find a place for it, without making anything. The error's message is the reason.
Status may_write(const std::string& path);

// Removes a regular file, if one is there: what an earlier program has left must not be taken for ours. The error's
// message is the system's reason.
Status remove_old(const std::string& path);

// As write_file, but whoever reads the file finds what was there before or all of the text, and never a part of it: the
// text is written to a file beside it, with ".new" at the end of its name, which takes its place. Only a regular file
// is replaced. Two programs must not replace the same file at the same time.
Status replace_file(const std::string& path, const std::string& text);

// True when the path, or the nearest existing folder above it, is served by another machine or by a process (FUSE),
// which may stall it for any time.
bool is_on_network(const std::string& path);

// True when what is there is kept in memory, so that no disk and no server can stall it.
bool is_in_memory(const std::string& path);

// True when nothing more can be written to the file: its file system has no room left.
bool is_on_full_disk(const std::string& path);

bool is_link(const std::string& path);

// Two descriptors of one file, pipe or terminal.
bool is_same_file(int one, int other);

// Opens a file for what a worker writes. The file is emptied, or made if it is missing.
Result<Fd> open_output(const std::string& path);

// The same for output that launch writes itself, at the end of the file, and may read again.
Result<Fd> open_log(const std::string& path);

// Opens a file, or /dev/null, as a worker's input.
Result<Fd> open_input(const std::string& path);

// Why a file, pipe or socket could not be opened: what errno says, and the limit to raise if that is the cause.
std::string why_not_opened(int error);

}  // namespace launch
