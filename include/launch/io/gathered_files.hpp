// Files on their way from one host to another, piece by piece: which there are in a folder, what is in them, and how
// they are put together again. Used by launch --hosts for the workers' logs, which are complete by then. Links are
// neither followed nor copied. Errors are the system's reason. Decides nothing; each call opens and closes what it
// needs.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The regular files in this folder and below it, as paths from there, in order of name.
std::vector<std::string> files_below(const std::string& folder);

// At most so many bytes from there on; fewer only if the file ends.
Result<std::string> read_piece(const std::string& path, std::uint64_t from, std::size_t most);

// Makes a folder, and those above it.
Status make_folders(const std::string& folder);

// Adds to the file; the first piece makes it, and the folders above it.
Status write_piece(const std::string& path, std::string_view bytes, bool first);

}  // namespace launch
