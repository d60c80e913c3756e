#include "launch/io/python_finder.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_interpreters = 8;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// In PREFIX/lib/python3.11/site-packages, and as Debian has it.
bool prefix_has(const fs::path& prefix, const std::string& module) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    std::error_code error;
    for (fs::directory_iterator at(prefix / lib, error), end; !error && at != end; at.increment(error)) {
      if (!at->path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path found = at->path() / packages / module;
        if (is_there(found) || is_there(found.string() + ".py")) return true;
      }
    }
  }
  return false;
}

// A virtual environment has its own packages; other names of an interpreter are links to where it is installed.
bool python_has(const fs::path& python, const std::string& module) {
  const fs::path prefix = python.parent_path().parent_path();
  if (prefix_has(prefix, module)) return true;
  if (is_there(prefix / "pyvenv.cfg")) return false;
  std::error_code error;
  const fs::path installed = fs::canonical(python, error);
  return !error && prefix_has(installed.parent_path().parent_path(), module);
}

std::vector<fs::path> bin_folders(const Environment& env) {
  std::vector<fs::path> folders;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const auto prefix = env.get(name); prefix && !prefix->empty()) folders.push_back(fs::path(*prefix) / "bin");
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  for (const char* name : {".venv", "venv"}) folders.push_back(here / name / "bin");
  const std::string path = env.get("PATH").value_or("");
  for (const std::string_view folder : split(path, ':'))
    if (!folder.empty()) folders.emplace_back(folder);
  return folders;
}

}  // namespace

std::vector<std::string> pythons_with(const std::string& module, const Environment& env) {
  std::vector<std::string> found;
  std::vector<fs::path> seen;  // a folder may be there under several names
  for (const fs::path& folder : bin_folders(env)) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || std::find(seen.begin(), seen.end(), real) != seen.end()) continue;
    seen.push_back(real);
    for (const char* name : {"python3", "python"}) {
      const fs::path python = folder / name;
      if (found.size() == most_interpreters || !is_there(python) || !python_has(python, module)) continue;
      found.push_back(python.string());
      break;  // the other one is the same interpreter
    }
  }
  return found;
}

}  // namespace launch
