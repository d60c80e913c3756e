#include "launch/core/config/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::program_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* python = "/usr/bin/python3";

Options options_for(const std::string& program) {
  Options options;
  options.program = program;
  options.program_args = {"a", "--b"};
  return options;
}

HostFacts facts_of(ProgramFacts program) {
  HostFacts facts;
  facts.path_python = python;
  facts.program = std::move(program);
  return facts;
}

ProgramFacts file(bool executable, std::string first_bytes) {
  return {true, false, false, executable, std::move(first_bytes), {}};
}

// The executable, then argv, then the script; or the error's message.
std::vector<std::string> resolve(const Options& options, const HostFacts& facts) {
  const auto command = resolve_program(options, facts);
  if (!command) {
    EXPECT_EQ(command.error().code, ErrorCode::usage);
    return {command.error().message};
  }
  EXPECT_EQ(command->name, options.program);
  std::vector<std::string> result{command->executable};
  result.insert(result.end(), command->argv.begin(), command->argv.end());
  result.push_back(command->script);
  return result;
}

void expect_python(const std::string& name, const ProgramFacts& program) {
  EXPECT_THAT(resolve(options_for(name), facts_of(program)), ElementsAre(python, python, "-u", name, "a", "--b", name))
      << program.first_bytes;
}

void expect_direct(const std::string& name, const ProgramFacts& program, const std::string& executable) {
  EXPECT_THAT(resolve(options_for(name), facts_of(program)), ElementsAre(executable, executable, "a", "--b", ""))
      << program.first_bytes;
}

TEST(Program, PythonRunsFilesOfItsSuffixWhateverTheyLookLike) {
  expect_python("train.py", file(false, "import torch\n"));
  expect_python("train.py", file(true, "#!/bin/bash\n"));
  expect_python("not_there.py", {});
  expect_python("dir/not_there.py", {});
}

TEST(Program, PythonRunsScriptsWhoseShebangNamesIt) {
  for (const char* line : {"#!/usr/bin/env python3\n", "#!/usr/bin/python3.11 -E\n", "#!/usr/bin/env -S python3 -u\n",
                           "#! /opt/venv/bin/python\nimport os", "#!/usr/bin/env -Spython3 -u\n", "#!python3.13t",
                           "#!/usr/bin/env -i X=1 python\n"}) {
    expect_python("train", file(true, line));
    expect_python("./train", file(false, line));
  }
}

TEST(Program, OtherExecutableFilesAreExecutedDirectly) {
  for (const char* bytes : {"\x7f"
                            "ELF\x02",
                            "#!/bin/sh\n", "#!/usr/bin/env bash\npython3 train.py\n", "#!/usr/bin/env pypy3\n",
                            "#!/usr/bin/env\n", "#!\n", "#!/usr/bin/python-config\n", "text", ""}) {
    expect_direct("dir/train", file(true, bytes), "dir/train");
    expect_direct("train", file(true, bytes), "./train");
  }
}

TEST(Program, ProgramsWithoutPermissionGoDirectlyAndOtherTextsToPython) {
  expect_direct("./train",
                file(false,
                     "\x7f"
                     "ELF\x02"),
                "./train");
  expect_direct("./train", file(false, "#!/bin/sh\n"), "./train");
  expect_python("./train", file(false, "import torch\n"));
  expect_python("./train", file(false, ""));
}

TEST(Program, ANameThatOnlyPathKnowsIsExecutedFromThereUnderItsName) {
  ProgramFacts echo;
  echo.on_path = "/bin/echo";
  EXPECT_THAT(resolve(options_for("echo"), facts_of(echo)), ElementsAre("/bin/echo", "echo", "a", "--b", ""));
  echo.in_working_directory = true;
  echo.folder = true;
  EXPECT_THAT(resolve(options_for("echo"), facts_of(echo)), ElementsAre("/bin/echo", "echo", "a", "--b", ""));
}

TEST(Program, AFileOfTheWorkingDirectoryWinsOverPath) {
  ProgramFacts train = file(true, "#!/bin/sh\n");
  train.on_path = "/bin/train";
  expect_direct("train", train, "./train");
}

TEST(Program, WhatIsNowhereIsLeftForStartingToReport) {
  expect_direct("nowhere", {}, "nowhere");
  expect_direct("dir/nowhere", {}, "dir/nowhere");
}

TEST(Program, WhatSpeaksAgainstItIsSaid) {
  const auto fault = [](const Options& options, const ProgramFacts& facts) {
    return resolve_program(options, facts_of(facts))->fault;
  };
  EXPECT_EQ(fault(options_for("train.py"), {}), "train.py does not exist; a job would end with exit code 127");
  EXPECT_EQ(fault(options_for("train.py"), file(false, "")), "");
  EXPECT_EQ(fault(options_for("./train"), {}), "./train does not exist; a job would end with exit code 127");
  EXPECT_EQ(fault(options_for("train"), {}),
            "train does not exist, and PATH does not have it either; a job would end with exit code 127");
  EXPECT_EQ(fault(options_for("./train"), file(false, "#!/bin/sh\n")),
            "./train may not be executed, chmod +x would allow it; a job would end with exit code 126");
  EXPECT_EQ(fault(options_for("./train"), file(true, "#!/bin/sh\n")), "");
  EXPECT_EQ(fault(options_for("train${local_rank}.py"), {}), "") << "a file of each worker";
  EXPECT_EQ(fault(options_for("-"), {}), "");
  ProgramFacts echo;
  echo.on_path = "/bin/echo";
  EXPECT_EQ(fault(options_for("echo"), echo), "");
  Options module = options_for("pkg.mod");
  module.module = {true, "--module"};
  EXPECT_EQ(fault(module, {}), "");
}

TEST(Program, AFolderWithAMainIsPythons) {
  const auto command = resolve_program(options_for("src"), facts_of({true, true, true, false, "", {}}));
  ASSERT_TRUE(command);
  EXPECT_THAT(command->argv, ElementsAre(python, "-u", "src", "a", "--b"));
  EXPECT_EQ(command->script, "src/__main__.py");
}

TEST(Program, AFolderIsAnError) {
  EXPECT_THAT(resolve(options_for("src"), facts_of({true, true, false, true, "", {}})),
              ElementsAre(HasSubstr("src is a folder without __main__.py")));
}

TEST(Program, ModulesGoToPythonByName) {
  Options options = options_for("pkg.mod");
  options.module = {true, "--module"};
  EXPECT_THAT(resolve(options, facts_of({})), ElementsAre(python, python, "-u", "-m", "pkg.mod", "a", "--b", ""));
}

TEST(Program, WithoutPythonItExecutesAsExecWould) {
  Options options = options_for("train.py");
  options.no_python = {true, "--no-python"};
  EXPECT_THAT(resolve(options, facts_of({})), ElementsAre("train.py", "train.py", "a", "--b", ""));
  ProgramFacts found = file(true, "");
  found.on_path = "/opt/bin/train.py";
  EXPECT_THAT(resolve(options, facts_of(found)), ElementsAre("/opt/bin/train.py", "train.py", "a", "--b", ""));
  options.program = "./train.py";
  EXPECT_THAT(resolve(options, facts_of(found)), ElementsAre("./train.py", "./train.py", "a", "--b", ""));
}

TEST(Program, ModuleWithoutPythonIsAContradictionThatNamesBothOrigins) {
  Options options = options_for("pkg.mod");
  options.module = {true, "--module"};
  options.no_python = {true, "PET_NO_PYTHON"};
  EXPECT_THAT(resolve(options, facts_of({})), ElementsAre(HasSubstr("PET_NO_PYTHON and --module exclude each other")));
}

TEST(Program, TheInterpreterIsPythonExecThenTheVirtualEnvironmentThenPath) {
  const Options options = options_for("train.py");
  HostFacts facts = facts_of({});
  facts.venv_python = "/venv/bin/python";
  EXPECT_EQ(resolve(options, facts)[0], "/venv/bin/python");
  facts.env.set("PYTHON_EXEC", "/opt/python");
  EXPECT_EQ(resolve(options, facts)[0], "/opt/python");
  facts.env.set("PYTHON_EXEC", "python3.11");
  EXPECT_EQ(resolve(options, facts)[0], "python3.11");
  facts.exec_python = "/usr/bin/python3.11";
  EXPECT_EQ(resolve(options, facts)[0], "/usr/bin/python3.11");
  EXPECT_EQ(resolve(options, facts)[1], "python3.11");
  facts.env.set("PYTHON_EXEC", "");
  EXPECT_THAT(resolve(options, facts), ElementsAre(HasSubstr("PYTHON_EXEC is set but empty")));
}

TEST(Program, WithoutAnyInterpreterTheErrorSaysWhatWasLookedFor) {
  const auto message = resolve(options_for("train.py"), HostFacts{});
  for (const char* place : {"PYTHON_EXEC", "VIRTUAL_ENV", "python3", "PATH"}) {
    EXPECT_THAT(message, ElementsAre(HasSubstr(place)));
  }
}

TEST(Program, AScriptNamedByAMacroIsNotOneFile) {
  EXPECT_EQ(resolve(options_for("train_${local_rank}.py"), facts_of({})).back(), "");
}

TEST(Program, AScriptFromStandardInputIsPythons) {
  const auto command = resolve_program(options_for("-"), facts_of({}));
  ASSERT_TRUE(command);
  EXPECT_THAT(command->argv, ElementsAre(python, "-u", "-", "a", "--b"));
  EXPECT_EQ(command->script, "");
}

TEST(Program, ABareNameIsNotSoughtInTheWorkingDirectory) {
  Options options = options_for("train");
  options.no_python = {true, "--no-python"};
  EXPECT_THAT(resolve(options, facts_of(file(true, "")))[0], HasSubstr("train is not on PATH; write ./train"));
}

TEST(Program, ARunPathWinsOverTheOtherForms) {
  Options options = options_for("/a/train.py");
  options.run_path = {true, "--run-path"};
  options.module = {true, "-m"};
  options.no_python = {true, "--no-python"};
  const auto command = resolve_program(options, facts_of({}));
  ASSERT_TRUE(command);
  EXPECT_EQ(command->executable, python);
  ASSERT_EQ(command->argv.size(), 7U);
  EXPECT_EQ(command->argv[2], "-c");
  EXPECT_THAT(command->argv[3], HasSubstr("run_path"));
  EXPECT_EQ(command->argv[4], "/a/train.py");
  EXPECT_EQ(command->argv[6], "--b");
  EXPECT_EQ(command->script, "/a/train.py");
}

}  // namespace launch::program_test
