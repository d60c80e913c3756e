#include "launch/core/config/program.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

bool has_slash(std::string_view name) { return name.find('/') != std::string_view::npos; }

// The next word of a shebang line, taken off its front.
std::string_view next_word(std::string_view& line) {
  line = trim(line);
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

// The program that env(1) would run: options and NAME=VALUE come before it.
std::string_view program_of_env(std::string_view line) {
  while (true) {
    std::string_view word = next_word(line);
    if (word.starts_with("-S")) word.remove_prefix(2);
    const bool skipped = word.empty() || word[0] == '-' || word.find('=') != std::string_view::npos;
    if (!skipped || trim(line).empty()) return word;
  }
}

// The base name of the interpreter in a "#!" line; empty without one.
std::string_view shebang_program(std::string_view first_bytes) {
  if (!first_bytes.starts_with("#!")) return {};
  std::string_view line = first_bytes.substr(2, first_bytes.find('\n') - 2);
  const auto base_name = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
  const std::string_view program = base_name(next_word(line));
  return program == "env" ? base_name(program_of_env(line)) : program;
}

// python, python3, python3.11, python3.13t
bool is_python(std::string_view program) {
  constexpr std::string_view name = "python";
  if (!program.starts_with(name)) return false;
  program.remove_prefix(name.size());
  if (program.ends_with('t')) program.remove_suffix(1);
  return program.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct Python {
  std::string executable;
  std::string name;  // argv[0]
};

Result<Python> find_python(const HostFacts& facts) {
  if (const auto exec = facts.env.get("PYTHON_EXEC")) {
    if (exec->empty()) return usage_error("PYTHON_EXEC is set but empty; unset it or let it name a Python interpreter");
    return Python{has_slash(*exec) ? *exec : facts.exec_python.value_or(*exec), *exec};
  }
  if (facts.venv_python) return Python{*facts.venv_python, *facts.venv_python};
  if (facts.path_python) return Python{*facts.path_python, *facts.path_python};
  return usage_error(
      "no Python interpreter: PYTHON_EXEC is not set, there is no bin/python in VIRTUAL_ENV or CONDA_PREFIX, and PATH "
      "has neither python3 nor python; set PYTHON_EXEC to one");
}

ProgramCommand direct(const Options& options, std::string executable, std::string first_argument) {
  ProgramCommand command{std::move(executable), {std::move(first_argument)}, {}, options.program};
  command.argv.insert(command.argv.end(), options.program_args.begin(), options.program_args.end());
  return command;
}

// As execvp(3) does: a name that is found nowhere stays as it is, so that starting it gives the reason.
Result<ProgramCommand> as_exec_would(const Options& options, const ProgramFacts& program) {
  if (has_slash(options.program)) return direct(options, options.program, options.program);
  if (program.on_path) return direct(options, *program.on_path, options.program);
  if (!program.in_working_directory) return direct(options, options.program, options.program);
  return usage_error(fmt::format("{0} is not on PATH; write ./{0} for the one in this folder", shown(options.program)));
}

Result<ProgramCommand> with_python(const Options& options, const HostFacts& facts) {
  auto python = find_python(facts);
  if (!python) return python.error();
  const bool module = options.module.value;
  ProgramCommand command{python->executable, {python->name, "-u"}, {}, options.program};
  if (module) command.argv.emplace_back("-m");
  command.argv.push_back(options.program);
  command.argv.insert(command.argv.end(), options.program_args.begin(), options.program_args.end());
  // A name with a macro in it is a different file for each worker.
  const bool is_file = !module && options.program != "-" && options.program.find('$') == std::string::npos;
  if (is_file) command.script = options.program + (facts.program.main_inside ? "/__main__.py" : "");
  return command;
}

// torchrun runs the file inside a Python process of its own; what it prints, its exit codes and sys.argv are the same.
Result<ProgramCommand> by_run_path(const Options& options, const HostFacts& facts) {
  auto python = find_python(facts);
  if (!python) return python.error();
  ProgramCommand command{python->executable, {python->name, "-u", "-c"}, options.program, options.program};
  command.argv.emplace_back("import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')");
  command.argv.push_back(options.program);
  command.argv.insert(command.argv.end(), options.program_args.begin(), options.program_args.end());
  return command;
}

// A file of the working directory needs a slash, or exec would search PATH for it.
ProgramCommand direct_file(const Options& options) {
  const std::string path = has_slash(options.program) ? options.program : "./" + options.program;
  return direct(options, path, path);
}

Result<ProgramCommand> resolve_file(const Options& options, const HostFacts& facts) {
  const ProgramFacts& file = facts.program;
  const std::string_view interpreter = shebang_program(file.first_bytes);
  if (is_python(interpreter)) return with_python(options, facts);
  const bool program = file.executable || !interpreter.empty() ||
                       file.first_bytes.starts_with(
                           "\x7f"
                           "ELF");
  return program ? direct_file(options) : with_python(options, facts);
}

// A name with a macro in it is a different file for each worker; - and a module are no files.
std::string fault_of(const Options& options, const ProgramFacts& file, const ProgramCommand& command) {
  if (options.module.value || options.program == "-" || options.program.find('$') != std::string::npos) return {};
  const bool searched = command.script.empty() && !has_slash(options.program);
  if (searched && file.on_path) return {};
  if (!file.in_working_directory)
    return fmt::format("{} does not exist{}; a job would end with exit code 127", shown(options.program),
                       searched ? ", and PATH does not have it either" : "");
  if (command.script.empty() && !file.executable)
    return fmt::format("{} may not be executed, chmod +x would allow it; a job would end with exit code 126",
                       shown(options.program));
  return {};
}

Result<ProgramCommand> choose_command(const Options& options, const HostFacts& facts) {
  const ProgramFacts& file = facts.program;
  if (options.run_path.value) return by_run_path(options, facts);
  if (options.module.value && options.no_python.value) {
    return usage_error(fmt::format("{} and {} exclude each other: a module needs Python; leave one of them out",
                                   options.no_python.origin, options.module.origin));
  }
  if (options.module.value) return with_python(options, facts);
  if (options.no_python.value) return as_exec_would(options, file);
  const bool here = file.in_working_directory && !file.folder;
  if (!here && file.on_path && !has_slash(options.program)) return as_exec_would(options, file);
  if (file.main_inside) return with_python(options, facts);
  if (file.folder) {
    return usage_error(
        fmt::format("{} is a folder without __main__.py; name a script or program in it", shown(options.program)));
  }
  if (options.program.ends_with(".py") || options.program == "-") return with_python(options, facts);
  return here ? resolve_file(options, facts) : as_exec_would(options, file);
}

}  // namespace

std::string interpreter_of(const ProgramCommand& command) {
  const std::string_view path = command.executable;
  return is_python(path.substr(path.rfind('/') + 1)) ? command.executable : "";
}

Result<ProgramCommand> resolve_program(const Options& options, const HostFacts& facts) {
  auto command = choose_command(options, facts);
  if (command) command->fault = fault_of(options, facts.program, *command);
  return command;
}

}  // namespace launch
