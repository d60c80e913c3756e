#include "launch/core/hosts/start_line.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/job/endpoint.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr const char* remote_command = "launch --remote 1";

// It means the same to every shell.
bool is_plain_path(std::string_view path) {
  return path.starts_with('/') && path.find_first_not_of(
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789/._-+") == std::string_view::npos;
}

// sh, csh and fish read it alike. The same path is tried first, since a shared folder has the same version.
std::string command_for_login(const std::string& self) {
  if (!is_plain_path(self)) return fmt::format("exec {}", remote_command);
  return fmt::format("test -x {0} && exec {0} --remote 1; exec {1}", self, remote_command);
}

// Nothing stays behind if it cannot be executed, or is not all there. It has no single quote in it.
std::string command_to_copy(const StartChoice& choice) {
  return fmt::format(
      "exec sh -c 'test \"$(uname -m)\" = {0} || {{ echo \"launch cannot be copied: this host is $(uname -m), and not "
      "{0}\" >&2; exit 126; }}; umask 077; d=$(mktemp -d \"${{TMPDIR:-/tmp}}/launch-copy-XXXXXX\") || exit 126; "
      "{{ head -c {1} > \"$d/launch\" && chmod 700 \"$d/launch\" && \"$d/launch\" --version > /dev/null; }} || "
      "{{ rm -rf \"$d\"; exit 126; }}; {2}=\"$d\" exec \"$d/launch\" --remote 1'",
      choice.machine, choice.self_size, copy_variable);
}

std::vector<std::string> ssh_line(const HostEntry& host, const StartChoice& choice, bool copies) {
  std::vector<std::string> line = choice.ssh;
  line.insert(line.end(), {"-T", "-x", "-a"});
  for (const char* option : {"BatchMode=yes", "ControlMaster=no", "ConnectTimeout=10", "ServerAliveInterval=5",
                             "ServerAliveCountMax=3", "LogLevel=INFO"})
    line.insert(line.end(), {"-o", option});
  if (host.port) line.insert(line.end(), {"-p", std::to_string(*host.port)});
  if (!host.user.empty()) line.insert(line.end(), {"-l", host.user});
  line.insert(line.end(), {host.name, "--", copies ? command_to_copy(choice) : command_for_login(choice.self)});
  return line;
}

std::vector<std::string> srun_line(const HostEntry& host, const StartChoice& choice) {
  return {"srun",
          "--nodes=1",
          "--ntasks=1",
          "--ntasks-per-node=1",
          "--nodelist=" + host.name,
          "--overlap",
          "--mpi=none",
          "--cpu-bind=none",
          "--kill-on-bad-exit=0",
          "--export=NONE",
          "--unbuffered",
          "--quiet",
          choice.self,
          "--remote",
          "1"};
}

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

// What a shell does by itself, or may. The words of its grammar that are no plain words are not here.
constexpr std::string_view words_of_shells[] = {
    ".",      ":",       "alias",   "bg",       "bind",    "break",    "builtin",  "caller",    "case",     "cd",
    "chdir",  "command", "compgen", "complete", "compopt", "continue", "coproc",   "declare",   "dirs",     "disown",
    "do",     "done",    "echo",    "elif",     "else",    "enable",   "esac",     "eval",      "exec",     "exit",
    "export", "false",   "fc",      "fg",       "fi",      "for",      "function", "getopts",   "hash",     "help",
    "hist",   "history", "if",      "in",       "jobs",    "kill",     "let",      "local",     "logout",   "mapfile",
    "newgrp", "popd",    "print",   "printf",   "pushd",   "pwd",      "read",     "readarray", "readonly", "return",
    "select", "set",     "shift",   "shopt",    "sleep",   "source",   "suspend",  "test",      "then",     "time",
    "times",  "trap",    "true",    "type",     "typeset", "ulimit",   "umask",    "unalias",   "unset",    "until",
    "wait",   "whence",  "while"};

// The words of a line that needs no shell, since every shell would only execute a program with them. Nothing: it does.
// With many hosts a shell for each is a good part of what their start takes.
std::optional<std::vector<std::string>> plain_words(std::string_view line) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "%+,-./:=@_ ";
  if (line.find_first_not_of(plain) != std::string_view::npos) return std::nullopt;
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' '))
    if (!word.empty()) words.emplace_back(word);
  // A program follows it whatever its name is, unless it is an option.
  const bool executes = words.size() > 1 && words.front() == "exec" && !words[1].starts_with('-');
  if (executes) words.erase(words.begin());
  if (words.empty() || words.front().find('=') != std::string::npos || words.front().starts_with('%'))
    return std::nullopt;
  const bool is_known =
      std::find(std::begin(words_of_shells), std::end(words_of_shells), words.front()) != std::end(words_of_shells);
  if (is_known && !executes) return std::nullopt;
  return words;
}

std::vector<std::string> line_of_user(const HostEntry& host, const StartChoice& choice) {
  std::string line = choice.command;
  if (line.find("{command}") == std::string::npos) line += " {command}";
  line = replaced(replaced(line, "{command}", remote_command), "{host}", shown_host(host));
  if (auto words = plain_words(line)) return *std::move(words);
  return {"/bin/sh", "-c", std::move(line)};
}

}  // namespace

bool is_here(const HostEntry& host, const StartChoice& choice) {
  if (choice.by == StartChoice::By::command || !host.user.empty() || host.port) return false;
  return is_loopback(host.name) ||
         std::find(choice.own_names.begin(), choice.own_names.end(), host.name) != choice.own_names.end();
}

bool is_client(const HostEntry& host, const StartChoice& choice) {
  return choice.by == StartChoice::By::ssh && !is_here(host, choice);
}

std::vector<std::string> start_line(const HostEntry& host, const StartChoice& choice, bool copies) {
  if (is_here(host, choice)) return {choice.self, "--remote", "1"};
  switch (choice.by) {
    case StartChoice::By::ssh:
      return ssh_line(host, choice, copies);
    case StartChoice::By::srun:
      return srun_line(host, choice);
    case StartChoice::By::command:
      return line_of_user(host, choice);
  }
  return {};
}

std::string starter_name(const StartChoice& choice) {
  switch (choice.by) {
    case StartChoice::By::ssh:
      return "ssh";
    case StartChoice::By::srun:
      return "srun";
    case StartChoice::By::command:
      return "the command of --start-with";
  }
  return "";
}

std::string shown_host(const HostEntry& host) {
  return host.user.empty() ? host.name : fmt::format("{}@{}", host.user, host.name);
}

}  // namespace launch
