// What this host is like, read once at the start: environment, name, processors, devices, the program's file. commands
// calls it before anything else, while every signal still ends launch at once. What cannot be found out is left empty;
// settle() says what is missing if it is needed.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <sys/resource.h>

namespace launch {

// The environment of this process.
Environment read_environment();

// All that settle() needs to know. Looks nothing up on the network.
HostFacts read_host_facts(const Options& options, Environment env);

ProgramFacts read_program_facts(const std::string& program, const std::string& search_path);

// Where `name`, which has no slash, is found in the folders of `search_path`.
std::optional<std::string> find_on_path(const std::string& name, const std::string& search_path);

// The file that is executed as `program`: itself if it has a slash.
std::optional<std::string> executable_of(const std::string& program, const std::string& search_path);

// Raises the soft limit of open files to the hard one, because the store serves thousands of connections. Returns the
// limit as it was, which workers get back. Makes room in the kernel's table for `expected` files, which must happen
// before there are threads: from then on each growth of that table waits for all processors, some 10 ms.
rlimit raise_open_files(int expected);

// The width of the terminal behind `fd`; 0: it is not a terminal.
std::size_t columns_of(int fd);

std::uint64_t random_seed();

}  // namespace launch
