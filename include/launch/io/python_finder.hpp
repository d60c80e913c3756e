// Finds the Python interpreters of this host that have a module, by the folders in which each of them keeps its
// packages: no interpreter is started, so what only sys.path at run time adds is not seen. May wait for a disk; never
// fails: what cannot be read counts as not there.
#pragma once

#include "launch/core/base/environment.hpp"

#include <string>
#include <vector>

namespace launch {

// Of VIRTUAL_ENV, CONDA_PREFIX, .venv and venv in the working directory, and PATH, in this order; each one once.
std::vector<std::string> pythons_with(const std::string& module, const Environment& env);

}  // namespace launch
