#include "launch/core/verdict/missing_module.hpp"

#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {

std::string missing_module(const Failure& failure) {
  constexpr std::string_view start = "ModuleNotFoundError: No module named '";
  const std::string_view error = failure.detail;
  if (!error.starts_with(start)) return "";
  const std::string_view rest = error.substr(start.size());
  const std::string_view name = rest.substr(0, rest.find_first_of(".'"));
  const bool plain = name.find_first_of("/\\*?[") == name.npos;  // it becomes a part of a path
  return plain ? std::string(name) : "";
}

std::string note_of_interpreters(const std::string& module, const std::string& asked,
                                 const std::vector<std::string>& others) {
  constexpr std::size_t most_pythons_named = 3;
  std::vector<std::string> named = others;
  std::erase(named, asked);
  if (named.size() > most_pythons_named) named.resize(most_pythons_named);
  const std::string missed = asked.empty() ? "" : fmt::format("{} has no module {}; ", asked, module);
  const std::string it = asked.empty() ? "module " + module : "it";
  if (named.empty())
    return fmt::format("{}no other Python of PATH, VIRTUAL_ENV or CONDA_PREFIX has {} either", missed, it);
  return fmt::format("{}{} {} {}: PYTHON_EXEC says which one to use", missed, fmt::join(named, " and "),
                     named.size() == 1 ? "has" : "have", it);
}

}  // namespace launch
