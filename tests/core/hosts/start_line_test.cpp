#include "launch/core/hosts/start_line.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::start_line_test {

using testing::ElementsAre;
using testing::HasSubstr;

using Line = std::vector<std::string>;
using By = StartChoice::By;

StartChoice choice_of(By by, std::string self = "/opt/launch/bin/launch") {
  StartChoice choice;
  choice.by = by;
  choice.ssh = {"ssh"};
  choice.command = "docker exec -i {host} {command}";
  choice.self = std::move(self);
  choice.own_names = {"login", "10.0.0.254"};
  return choice;
}

HostEntry host_of(const std::string& name, const std::string& user = "", std::optional<int> port = std::nullopt) {
  HostEntry host;
  host.name = name;
  host.user = user;
  host.port = port;
  return host;
}

TEST(StartLine, Ssh) {
  EXPECT_THAT(
      start_line(host_of("n1"), choice_of(By::ssh)),
      ElementsAre("ssh", "-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ConnectTimeout=10",
                  "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "LogLevel=INFO", "n1", "--",
                  "test -x /opt/launch/bin/launch && exec /opt/launch/bin/launch --remote 1; exec launch "
                  "--remote 1"));
}

TEST(StartLine, PortAndUserStandBeforeTheName) {
  const Line line = start_line(host_of("fd00::2", "me", 2222), choice_of(By::ssh));
  const auto own = std::find(line.begin(), line.end(), "-p");
  EXPECT_EQ(Line(own, line.end() - 1), (Line{"-p", "2222", "-l", "me", "fd00::2", "--"}));
}

TEST(StartLine, TheUsersOwnOptionsComeFirst) {
  StartChoice choice = choice_of(By::ssh);
  choice.ssh = {"/usr/bin/ssh", "-J", "bastion"};
  const Line line = start_line(host_of("n1"), choice);
  EXPECT_EQ(Line(line.begin(), line.begin() + 4), (Line{"/usr/bin/ssh", "-J", "bastion", "-T"}))
      << "ssh takes the first value of an option";
}

TEST(StartLine, ThePathIsLeftOutIfAShellCouldReadItOtherwise) {
  for (const char* self : {"/home/a b/launch", "launch", "", "/x;y", "/x$y", "/x'y", "/x\"y", "/x\\y", "/x~", "/x!y",
                           "/x*", "/x\ny", "/x\xc3\xa4"}) {
    EXPECT_EQ(start_line(host_of("n1"), choice_of(By::ssh, self)).back(), "exec launch --remote 1") << self;
  }
  EXPECT_THAT(start_line(host_of("n1"), choice_of(By::ssh, "/a-b_c.d+e/1")).back(), HasSubstr("test -x /a-b_c.d+e/1"));
}

TEST(StartLine, EveryHostGetsTheSameCommand) {
  const StartChoice choice = choice_of(By::ssh);
  EXPECT_EQ(start_line(host_of("n1"), choice).back(), start_line(host_of("other", "me", 7), choice).back());
}

TEST(StartLine, Srun) {
  const Line line = start_line(host_of("n1"), choice_of(By::srun));
  EXPECT_EQ(line.front(), "srun");
  for (const char* option : {"--nodes=1", "--ntasks=1", "--nodelist=n1", "--overlap", "--mpi=none", "--export=NONE",
                             "--kill-on-bad-exit=0", "--unbuffered", "--cpu-bind=none"})
    EXPECT_THAT(line, testing::Contains(option));
  EXPECT_EQ(Line(line.end() - 3, line.end()), (Line{"/opt/launch/bin/launch", "--remote", "1"}));
}

// What the shell would get; nothing if there is none.
std::string for_shell(const std::string& command, const HostEntry& host) {
  StartChoice choice = choice_of(By::command);
  choice.command = command;
  const Line line = start_line(host, choice);
  return Line(line.begin(), line.end() - 1) == Line{"/bin/sh", "-c"} ? line.back() : "";
}

TEST(StartLine, ACommandOfTheUser) {
  const auto shell = [](const std::string& command) { return for_shell(command, host_of("n1", "me")); };
  EXPECT_EQ(shell("cd /; docker exec -i {host} {command}"), "cd /; docker exec -i me@n1 launch --remote 1");
  EXPECT_EQ(shell("rsh '{host}'"), "rsh 'me@n1' launch --remote 1") << "the command is at the end";
  EXPECT_EQ(shell("{host} {host} '{command}' {command}"), "me@n1 me@n1 'launch --remote 1' launch --remote 1");
}

TEST(StartLine, ACommandOfPlainWordsNeedsNoShell) {
  const auto line = [](const std::string& command, const HostEntry& host) {
    StartChoice choice = choice_of(By::command);
    choice.command = command;
    return start_line(host, choice);
  };
  EXPECT_THAT(line("docker exec -i {host} {command}", host_of("n1")),
              ElementsAre("docker", "exec", "-i", "n1", "launch", "--remote", "1"));
  EXPECT_THAT(line("  kubectl  exec -i pod/{host}", host_of("n1", "me")),
              ElementsAre("kubectl", "exec", "-i", "pod/me@n1", "launch", "--remote", "1"));
  EXPECT_THAT(line("env ON={host} A=1,2:3%+ ./a_b.sh", host_of("fd00::2")),
              ElementsAre("env", "ON=fd00::2", "A=1,2:3%+", "./a_b.sh", "launch", "--remote", "1"));
  EXPECT_THAT(line("exec {command}", host_of("n1")), ElementsAre("launch", "--remote", "1"));
  EXPECT_THAT(line("exec time -p", host_of("n1")), ElementsAre("time", "-p", "launch", "--remote", "1"))
      << "behind exec there is always a program";
}

TEST(StartLine, WhatOnlyAShellUnderstandsIsLeftToIt) {
  for (const char* command : {"A=1 docker {command}",
                              "cd /tmp",
                              "{command}; true",
                              "{command} 2>&1",
                              "{command} | cat",
                              "docker $X",
                              "~/x",
                              "a `b`",
                              "a {command} &",
                              "a \\{command}",
                              "a \"{host}\"",
                              "a '{host}'",
                              "a {{x,y}}",
                              "a *",
                              "a ?",
                              "a [b]",
                              "! a",
                              "#a",
                              "(a)",
                              "a\tb",
                              "a\nb",
                              "%1",
                              ": a",
                              ". a",
                              "command a",
                              "eval a",
                              "time a",
                              "exec -a b c",
                              "exec A=1 b",
                              "ulimit -n 4",
                              "a\xc3\xa4"})
    EXPECT_NE(for_shell(command, host_of("n1")), "") << command;
}

struct Place {
  HostEntry host;
  bool here;
};

TEST(StartLine, ThisMachineNeedsNoLogin) {
  for (const Place& place : std::vector<Place>{{host_of("login"), true},
                                               {host_of("10.0.0.254"), true},
                                               {host_of("localhost"), true},
                                               {host_of("127.0.0.1"), true},
                                               {host_of("::1"), true},
                                               {host_of("n1"), false},
                                               {host_of("login2"), false},
                                               {host_of("login", "root"), false},
                                               {host_of("localhost", "", 2222), false}}) {
    for (const By by : {By::ssh, By::srun}) {
      EXPECT_EQ(is_here(place.host, choice_of(by)), place.here) << place.host.name;
      const Line line = start_line(place.host, choice_of(by));
      EXPECT_EQ(line == (Line{"/opt/launch/bin/launch", "--remote", "1"}), place.here);
    }
    EXPECT_FALSE(is_here(place.host, choice_of(By::command))) << "a container may have any name";
    EXPECT_EQ(is_client(place.host, choice_of(By::ssh)), !place.here);
    for (const By by : {By::srun, By::command}) EXPECT_FALSE(is_client(place.host, choice_of(by)));
    EXPECT_EQ(start_line(place.host, choice_of(By::command)).front(), "docker");
  }
}

TEST(StartLine, NamesForPeople) {
  EXPECT_EQ(starter_name(choice_of(By::ssh)), "ssh");
  EXPECT_EQ(starter_name(choice_of(By::srun)), "srun");
  EXPECT_EQ(starter_name(choice_of(By::command)), "the command of --start-with");
  EXPECT_EQ(shown_host(host_of("n1")), "n1");
  EXPECT_EQ(shown_host(host_of("n1", "me")), "me@n1");
}

TEST(StartLine, ACopyIsReadFromTheInputAndRunsOnlyOnTheSameMachine) {
  StartChoice choice;
  choice.ssh = {"ssh"};
  choice.self = "/opt/launch";
  choice.self_size = 4711;
  choice.machine = "x86_64";
  HostEntry host;
  host.name = "n1";
  const std::string command = start_line(host, choice, true).back();
  EXPECT_THAT(command, testing::StartsWith("exec sh -c '"));
  EXPECT_EQ(std::count(command.begin(), command.end(), '\''), 2) << "shells agree on what is between two of these";
  EXPECT_THAT(command, testing::HasSubstr("test \"$(uname -m)\" = x86_64 ||"));
  EXPECT_THAT(command, testing::HasSubstr("head -c 4711 > \"$d/launch\""));
  EXPECT_THAT(command, testing::HasSubstr("rm -rf \"$d\""));
  EXPECT_THAT(command, testing::HasSubstr("LAUNCH_COPY=\"$d\" exec \"$d/launch\" --remote 1"));
}

}  // namespace launch::start_line_test
