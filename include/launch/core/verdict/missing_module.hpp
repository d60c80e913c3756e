// A worker that ended because Python did not find a module: most often another interpreter was asked than the one for
// which the module was installed. What the user needs to know of that; app/job_record adds it to the failure. Pure:
// io/python_finder looks at the folders.
#pragma once

#include "launch/core/verdict/failure_report.hpp"

#include <string>
#include <vector>

namespace launch {

// The module, without what is inside it ("torch" for "torch.nn"); empty if the failure is of another kind.
std::string missing_module(const Failure& failure);

// `asked`: the interpreter that launch started; empty: something else was started, and it is not known.
// `others`: interpreters for which the module is installed.
std::string note_of_interpreters(const std::string& module, const std::string& asked,
                                 const std::vector<std::string>& others);

}  // namespace launch
