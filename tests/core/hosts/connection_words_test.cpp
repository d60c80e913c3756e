// Texts without a remark were recorded on Debian 12 (names of hosts and paths are changed): OpenSSH 9.2 with its own
// sshd, Slurm 22.05, bash 5.2, dash, zsh 5.9, fish 3.6, tcsh 6.24 and busybox. The others are as their programs have
// them in their sources or manuals.
#include "launch/core/hosts/connection_words.hpp"

#include "launch/core/base/random.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::connection_words_test {

using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

struct Ended {
  int code;
  std::string errors;
  std::string expected;  // a part of the reason
  int exit_code = 1;
};

LostConnection ended(int code, std::string errors, std::string noise = "") {
  LostConnection lost{"ssh", "n7", {ExitStatus::Kind::exited, code}, std::move(errors), std::move(noise)};
  return lost;
}

void expect_words(const std::vector<Ended>& cases) {
  for (const Ended& one : cases) {
    const HostProblem problem = explain(ended(one.code, one.errors));
    EXPECT_EQ(problem.host, "n7");
    EXPECT_THAT(problem.reason, HasSubstr(one.expected)) << one.errors;
    EXPECT_EQ(problem.exit_code, one.exit_code) << one.errors;
  }
}

const std::string closed = "kex_exchange_identification: Connection closed by remote host\r\n";

TEST(ConnectionWords, SshFindsNoWay) {
  expect_words({
      {255, "ssh: Could not resolve hostname n7: Name or service not known\r\n", "ssh does not know the name; ", 2},
      {255, "ssh: Could not resolve hostname n7: Temporary failure in name resolution\r\n", "no name server answers"},
      {255, "hostname contains invalid characters\r\n", "this is not the name of a host", 2},
      {255, "ssh: connect to host n7 port 1: Connection refused\r\n", "nothing listens on port 1 (sshd?)"},
      {255, "ssh: connect to host n7 port 22: Connection timed out\r\n",  // from its source
       "no answer on port 22 within 10 s (down, or a firewall)", 124},
      {255, "ssh: connect to host n7 port 22: Operation timed out\r\n", "no answer on port 22", 124},  // macOS
      {255, "ssh: connect to host n7 port 22: No route to host\r\n", "no route to it on port 22 (down, or a firewall)"},
      {255, "ssh: connect to host n7 port 22: Network is unreachable\r\n", "no route to its network"},
      {255, "Connection timed out during banner exchange\r\n",
       "port 22 is open, and sshd did not greet within 10 s (busy, or something else listens there)", 124},
      {255, "Timeout, server n7 not responding.\r\n", "it stopped answering", 124},  // from its source
      {255, "command-line: line 0: Bad configuration option: foo\r\n",
       "ssh does not take its options: \"command-line: line 0: Bad configuration option: foo\"", 2},
      {255, "command-line line 0: invalid time value.\r\n", "ssh does not take its options", 2},
      {255, "unknown option -- Z\r\nusage: ssh [-46AaCfGgKkMNnqsTtVvXxYy] [-B bind_interface]\n",
       "ssh does not take its options: \"unknown option -- Z\"", 2},
      {255, "Bad port '99999'\r\n", "\"Bad port '99999'\"", 2},
  });
}

TEST(ConnectionWords, AJumpHostIsNamed) {
  expect_words({
      {255, "ssh: Could not resolve hostname bastion.invalid: Name or service not known\r\n" + closed,
       "jump host bastion.invalid: ssh does not know the name", 2},
      {255, "ssh: connect to host 127.0.0.1 port 1: Connection refused\r\n" + closed,
       "jump host 127.0.0.1: nothing listens on port 1"},
      {255, "channel 0: open failed: connect failed: Name or service not known\r\nstdio forwarding failed\r\n" + closed,
       "the jump host does not know the name", 2},
      {255, "channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding failed\r\n" + closed,
       "nothing listens on port 22 (sshd?), says the jump host"},
      {255, "channel 0: open failed: administratively prohibited: open failed\r\nstdio forwarding failed\r\n" + closed,
       "the jump host forbids connections to others"},
  });
  // HostName in ssh's configuration
  const HostProblem alias = explain(ended(255, "ssh: connect to host 10.0.0.7 port 2222: Connection refused\r\n"));
  EXPECT_EQ(alias.reason, "nothing listens on port 2222 (sshd?)");
}

TEST(ConnectionWords, KeysAndPasswords) {
  const std::string changed =
      "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r\n"
      "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
      "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r\n"
      "Offending ED25519 key in /tmp/hC_rec/kh:1\r\n"
      "  remove with:\r\n  ssh-keygen -f \"/tmp/hC_rec/kh\" -R \"[127.0.0.1]:22922\"\r\n"
      "Host key for [127.0.0.1]:22922 has changed and you have requested strict checking.\r\n"
      "Host key verification failed.\r\n";
  const std::string denied = "root@127.0.0.1: Permission denied (publickey,password,keyboard-interactive).\r\n";
  expect_words({
      {255, "Host key verification failed.\r\n", "the host key is unknown; ssh HOST once by hand"},
      {255, changed, "the host key has changed"},
      {255, denied, "ssh wants a password; set up a key (ssh-copy-id HOST), launch never asks"},
      {255, "u@n7: Permission denied (publickey,password).\r\n", "ssh wants a password"},
      {255, "u@n7: Permission denied (publickey).\r\n", "it takes none of ssh's keys"},  // a usual sshd's
      {255,
       "Permissions 0644 for '/root/.ssh/id' are too open.\r\nThis private key will be ignored.\r\n"
       "Load key \"/root/.ssh/id\": bad permissions\r\n" +
           denied,
       "chmod 600 it: \"Permissions 0644 for '/root/.ssh/id' are too open.\""},
      {255, "Received disconnect from 127.0.0.1 port 22922:2: Too many authentication failures\r\n",
       "ssh offered too many keys"},
      {255,
       "Unable to negotiate with 127.0.0.1 port 22922: no matching cipher found. Their offer: "
       "chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr\r\n",
       "ssh and sshd agree on no method: \"Unable to negotiate"},
  });
}

TEST(ConnectionWords, OnlyABusySshdIsTriedAgain) {
  const std::string reset = "kex_exchange_identification: read: Connection reset by peer\r\n";
  for (const std::string& text :
       {closed, reset, std::string("ssh_exchange_identification: Connection closed by remote host\r\n")}) {
    EXPECT_TRUE(may_try_again(ended(255, text))) << text;
    EXPECT_THAT(explain(ended(255, text)).reason, HasSubstr("MaxStartups"));
  }
  for (const std::string& text :
       {std::string(), "ssh: Could not resolve hostname bastion.invalid: Name or service not known\r\n" + closed,
        "channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding failed\r\n" + closed,
        std::string("Connection timed out during banner exchange\r\n"),
        std::string("Connection to 127.0.0.1 closed by remote host.\r\n"),
        std::string("kex_exchange_identification: banner line contains invalid characters\r\n")})
    EXPECT_FALSE(may_try_again(ended(255, text))) << text;
  EXPECT_FALSE(may_try_again(ended(127, closed)));
  EXPECT_FALSE(may_try_again({"ssh", "n7", {ExitStatus::Kind::signalled, 9}, closed, ""}));
}

TEST(ConnectionWords, NoLaunchThere) {
  const std::pair<int, const char*> cases[] = {
      {127, "bash: line 1: exec: launch: not found\n"},
      {127, "bash: line 1: /nosuch/launch: No such file or directory\n"},
      {127, "sh: 1: exec: launch: not found\n"},
      {127, "sh: exec: line 0: launch: not found\n"},
      {127, "fish: Unknown command: launch\nfish: \nexec launch --remote 1\n     ^~~~~^\n"},
      {127, "fish: Unknown command: /nosuch/launch\nfish: \nexec /nosuch/launch --remote 1\n     ^~~~~~~~~~~~~^\n"},
      {1, "launch: Command not found.\n"},
      {1, "/nosuch/launch: Command not found.\n"},
      {127, "zsh:1: command not found: launch\n"},
      {127, "zsh:1: no such file or directory: /nosuch/launch\n"},
      {127, "bash: Zeile 1: exec: launch: Nicht gefunden.\n"},  // by the exit code
      {127, ""},
      {2,
       "slurmstepd-n1: error: execve(): launch: No such file or directory\n"
       "srun: error: n1: task 0: Exited with exit code 2\n"},
      {127, "ssh: Could not resolve hostname github.com: Name or service not known\nbash: exec: launch: not found\n"},
  };
  for (const auto& [code, errors] : cases) {
    const HostProblem problem = explain(ended(code, errors));
    EXPECT_THAT(problem.reason, HasSubstr("launch is not on the PATH of a login without a terminal")) << errors;
    EXPECT_EQ(problem.exit_code, 1);
  }
  // docker's manual; it writes it to standard output
  const std::string docker =
      "OCI runtime exec failed: exec failed: unable to start container process: exec: \"launch\": executable file not "
      "found in $PATH: unknown\r\n";
  EXPECT_THAT(explain(ended(126, "", docker)).reason, HasSubstr("launch is not on the PATH"));
  expect_words({{127, "bash: line 1: /nosuch: No such file or directory\n",
                 "ssh ended with exit code 127: \"bash: line 1: /nosuch: No such file or directory\""}});
}

TEST(ConnectionWords, LaunchCannotBeExecuted) {
  constexpr auto other = "launch there is for another architecture";
  expect_words({
      {126,
       "bash: line 1: /opt/launch: cannot execute binary file: Exec format error\nbash: line 1: /opt/launch: Success\n",
       other},
      {126, "dash: 1: exec: /opt/launch: Exec format error\n", other},
      {126, "exec: Failed to execute process: '/opt/launch' the file could not be run by the operating system.\n",
       other},
      {127,
       "/opt/launch: line 1: \x7f"
       "ELF\x02\x01\x01\x02\xb7\x01: not found\n",
       other},
      {1, "/opt/launch: Exec format error. Binary file not executable.\n", other},
      {126, "zsh:1: exec format error: /opt/launch\n", other},
      {8,
       "slurmstepd-n1: error: execve(): /opt/launch: Exec format error\nsrun: error: n1: task 0: Exited with exit code "
       "8\n",
       other},
      {127, "bash: line 1: /opt/launch: cannot execute: required file not found\n", other},
      {127,
       "exec: Failed to execute process '/opt/launch': The file exists and is executable. Check the interpreter or "
       "linker?\n",
       other},
      {126,
       "bash: line 1: /opt/launch: Permission denied\nbash: line 1: exec: /opt/launch: cannot execute: Permission "
       "denied\n",
       "launch is there and may not be executed"},
      {126,
       "fish: Unknown command. '/opt/launch' exists but is not an executable file.\nexec /opt/launch\n     ^~~~^\n",
       "launch is there and may not be executed"},
      {1, "/opt/launch: Permission denied.\n", "launch is there and may not be executed"},
      {13, "slurmstepd-n1: error: execve(): /opt/launch: Permission denied\n",
       "launch is there and may not be executed"},
      {126, "zsh:1: permission denied: /opt/launch\n",
       "launch is there and could not be executed: \"zsh:1: permission"},
      {127,
       "launch: error while loading shared libraries: libzz.so: cannot open shared object file: No such file or "
       "directory\n",
       "launch is there and lacks a library: \"launch: error while loading shared libraries: libzz.so"},
      {1, "launch: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by launch)\n",
       "built for a newer system: \"launch: /lib/"},  // from the source of glibc
      {1, "bash: line 1: exec: restricted\n", "a restricted one: \"bash: line 1: exec: restricted\""},
      {2, "launch: error: unknown option --remote; see launch --help\n", "launch there is too old"},
  });
}

TEST(ConnectionWords, TheAccountAndItsFolder) {
  constexpr auto no_home = "Could not chdir to home directory /home/u: No such file or directory\n";
  expect_words({
      {127, std::string(no_home) + "bash: line 1: exec: launch: not found\n",
       "the home directory is not there (not mounted?): \"Could not chdir to home directory /home/u: No such"},
      {1, "bash: line 1: echo: write error: No space left on device\n", "no space is left"},
      {1, "touch: cannot touch 'x': Disk quota exceeded\n", "the disk quota there is used up"},  // strerror
      {255,
       "Access denied by pam_slurm_adopt: you have no active jobs on this node\nConnection closed by 10.0.0.7 port "
       "22\n",
       "logins there need a running Slurm job"},                                   // from its source
      {1, "Password change required but no TTY available.\n", "must be changed"},  // from its source
      {254, "System is booting up. Unprivileged users are not permitted to log in yet.\n",
       "it permits no logins now"},  // systemd's
  });
  EXPECT_EQ(explain(ended(1, "", "This account is currently not available.\n")).reason,
            "this account may not log in there (its shell is nologin)");
}

TEST(ConnectionWords, NoiseIsQuoted) {
  EXPECT_EQ(explain(ended(0, "", "Welcome!\r\n\x1b[31mload\ta module\x1b[0m first\r\n\n")).reason,
            "the login said \"load a module first\" and launch did not start; look at its shell's rc files (ssh ended "
            "with exit code 0)");
  EXPECT_THAT(explain(ended(3, "oops\n", "hello\n")).reason, HasSubstr("(ssh ended with exit code 3: \"oops\")"));
  EXPECT_THAT(
      explain(ended(127, "bash: line 1: exec: launch: not found\n", "If your password has expired, call us.\n")).reason,
      HasSubstr("launch is not on the PATH"));
}

TEST(ConnectionWords, Srun) {
  expect_words({
      {1, "srun: error: Unable to allocate resources: Invalid node name specified\n", "Slurm does not know the node",
       2},
      {1, "srun: error: Unable to create step for job 1: Requested node configuration is not available\n",
       "the node is not in this Slurm job"},
      {1, "srun: error: Unable to create step for job 1: More processors requested than permitted\n",
       "Slurm starts no step there: \"srun: error: Unable to create step for job 1: More"},
      {1,
       "srun: error: Unable to confirm allocation for job 12345: Invalid job id specified\n"
       "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 12345\n",
       "the Slurm job is gone"},
      {1,
       "srun: error: Slurm job 1 has expired\n"
       "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 1\n",
       "the Slurm job is gone"},
      {1,
       "srun: error: Unable to confirm allocation for job 2: Unable to contact slurm controller (connect failure)\n"
       "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 2\n",
       "Slurm's controller does not answer"},
      {233,
       "srun: error: Task launch for StepId=2.0 failed on node n1: Communication connection failure\n"
       "srun: error: Application launch failed: Communication connection failure\nsrun: Job step aborted\n",
       "srun does not reach the node's slurmd"},
      {143,
       "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
       "slurmstepd-n1: error: *** STEP 1.5 ON n1 CANCELLED AT 2026-11-26T20:41:52 ***\n"
       "srun: error: n1: task 0: Terminated\n",
       "the Slurm step was cancelled"},
      {137, "srun: error: n1: task 0: Killed\nsrun: Force Terminated StepId=1.4\n",
       "exit code 137: \"srun: error: n1: task 0: Killed\""},
      {1,
       "srun: error: fetch_config: DNS SRV lookup failed\n"
       "srun: fatal: Could not establish a configuration source\n",
       "srun finds no configuration"},
  });
}

TEST(ConnectionWords, Containers) {
  const std::string daemon =
      "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n";
  const std::string server =
      "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n";
  expect_words({
      {1, daemon, "exit code 1: \"Cannot connect to the Docker daemon"},
      {1, server, "exit code 1: \"The connection to the server localhost:8080 was refused"},
      // from the manuals
      {1, "Error response from daemon: No such container: n7\n", "there is no such container", 2},
      {1, "Error response from daemon: container 4ab1 is not running\n", "the container is not running"},
      {1, "Error from server (NotFound): pods \"n7\" not found\n", "there is no such pod", 2},
  });
}

TEST(ConnectionWords, WhatNobodyKnowsIsQuoted) {
  expect_words({
      {255, "", "ssh ended with exit code 255 and gave no reason; ssh HOST by hand may tell more"},
      {0, "", "ssh ended with exit code 0 before launch started; look at the rc files"},
      {5, "first\nlast\x07 words\r\n\n", "ssh ended with exit code 5: \"last  words\""},
      {255, "Connection to 127.0.0.1 closed by remote host.\r\n", "\"Connection to 127.0.0.1 closed by remote host.\""},
  });
  EXPECT_EQ(explain({"ssh", "n7", {ExitStatus::Kind::signalled, 9}, "", ""}).reason,
            "ssh was killed by signal 9 (SIGKILL)");
}

std::string random_bytes(Random& random, std::size_t most) {
  constexpr std::string_view words[] = {
      "launch", "not found",        "permission denied (",       " port ",
      "\n",     "connect to host ", "exchange_identification: ", "command-line: line ",
      "\x1b[",  "\xC2\x9b"};
  std::string text;
  while (text.size() < most) {
    if (random.next() % 4 == 0) {
      text += words[random.next() % std::size(words)];
    } else {
      text += static_cast<char>(random.next());
    }
  }
  return text;
}

TEST(ConnectionWords, AnyBytesGiveOneBoundedLine) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const LostConnection lost{random_bytes(random, random.next() % 80),
                              random_bytes(random, random.next() % 300),
                              {random.next() % 8 ? ExitStatus::Kind::exited : ExitStatus::Kind::signalled,
                               static_cast<int>(random.next() % 256)},
                              random_bytes(random, random.next() % 6'000),
                              random_bytes(random, random.next() % 6'000)};
    const std::string reason = explain(lost).reason;
    EXPECT_FALSE(reason.empty());
    EXPECT_LE(reason.size(), 400u);
    EXPECT_TRUE(std::none_of(reason.begin(), reason.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }));
  }
}

TEST(ConnectionWords, EqualReasonsAreOneLine) {
  EXPECT_EQ(fold_problems({}), Lines());
  EXPECT_EQ(fold_problems({{"n7", "down", 124}, {"n3", "no name", 2}, {"n4", "no name", 2}, {"n4", "no name", 2}}),
            (Lines{"n[3-4]: no name", "n7: down"}));
  EXPECT_EQ(fold_problems({{"a", "x"}, {"b", "y"}, {"a", "y\n"}}), (Lines{"a: x", "b: y", "a: y "}));
}

TEST(ConnectionWords, ManyReasonsAreCutShort) {
  std::vector<HostProblem> problems;
  for (int number = 1; number <= 20; ++number)
    problems.push_back({fmt::format("n{}", number), fmt::format("r{}", number)});
  EXPECT_EQ(fold_problems(problems).size(), 20u);
  problems.push_back({"n21", "r21"});
  EXPECT_EQ(fold_problems(problems).back(), "and 1 more host");
  problems.push_back({"n22", "r22"});
  problems.push_back({"n22", "r23"});
  EXPECT_EQ(fold_problems(problems).size(), 21u);
  EXPECT_EQ(fold_problems(problems).back(), "and 2 more hosts");
}

TEST(ConnectionWords, ALongListOfHostsIsCutShort) {
  std::vector<HostProblem> odd;
  for (int number = 1; number < 1'000; number += 2) odd.push_back({fmt::format("n{}", number), "down"});
  const std::string line = fold_problems(odd).at(0);
  EXPECT_TRUE(line.starts_with("n[1,3,5,")) << line;
  EXPECT_TRUE(line.ends_with(",...] (500 hosts): down")) << line;
  EXPECT_LT(line.size(), 340u);
}

TEST(ConnectionWords, OfALaunchThatHadAnsweredNothingIsSaidOfTheLogin) {
  for (const auto& [code, errors, expected, exit_code] :
       std::vector<Ended>{{255, "", "ssh ended with exit code 255"},
                          {255, "Connection to n7 closed by remote host.\n",
                           "ssh ended with exit code 255: \"Connection to n7 closed by remote host.\""},
                          {0, "", "launch there has left"},
                          {127, "", "ssh ended with exit code 127"}}) {
    LostConnection lost = ended(code, errors);
    lost.greeted = true;
    EXPECT_EQ(explain(lost).reason, expected);
    EXPECT_EQ(explain(lost).exit_code, exit_code);
  }
}

TEST(ConnectionWords, AConnectionThatWentThroughAnotherHostNamesIt) {
  LostConnection lost = ended(255, "");
  lost.starter = "n2";
  EXPECT_EQ(explain(lost).reason, "it went through n2, whose own connection has ended");
}

}  // namespace launch::connection_words_test
