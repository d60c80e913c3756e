#include "launch/core/control/control_completion.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::string_view signals = "HUP INT QUIT USR1 USR2 TERM KILL CONT STOP";

std::vector<std::string> command_names(const std::vector<ControlWords>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const ControlWords& command : commands) names.push_back(command.command);
  return names;
}

std::string bash_script(const std::vector<ControlWords>& commands) {
  std::string options;
  for (const ControlWords& command : commands)
    options += fmt::format("      {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n", command.command,
                           fmt::join(command.options, " "));
  return fmt::format(R"sh(# bash completion for launch-ctl: eval "$(launch-ctl --print-completion bash)"
_launch_ctl() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version --print-completion' -- "$word"))
    return
  fi
  case "$word" in
    -*) case "${{COMP_WORDS[1]}}" in
{}      esac
      return ;;
  esac
  case "$before" in
    --print-completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$word")) ;;
    --node | drain) COMPREPLY=($(compgen -W "$(launch-ctl names nodes 2> /dev/null)" -- "$word")) ;;
    signal) COMPREPLY=($(compgen -W '{}' -- "$word")) ;;
    filter) COMPREPLY=($(compgen -W 'all' -- "$word")) ;;
    --rank | --lines | -n | --since | --interval | kill-rank) ;;
    *) COMPREPLY=($(compgen -W "$(launch-ctl names jobs 2> /dev/null)" -- "$word")) ;;
  esac
}}
complete -F _launch_ctl launch-ctl
)sh",
                     fmt::join(command_names(commands), " "), options, signals);
}

std::string zsh_script(const std::vector<ControlWords>& commands) {
  std::string options;
  for (const ControlWords& command : commands)
    options += fmt::format("      {}) compadd -- {} ;;\n", command.command, fmt::join(command.options, " "));
  return fmt::format(R"sh(#compdef launch-ctl
# zsh completion for launch-ctl: as a file named _launch-ctl in a folder of $fpath
_launch_ctl() {{
  if (( CURRENT == 2 )); then
    compadd -- {} --help --version --print-completion
    return
  fi
  if [[ "$PREFIX" == -* ]]; then
    case "$words[2]" in
{}    esac
    return
  fi
  case "$words[CURRENT-1]" in
    --print-completion) compadd bash zsh fish ;;
    --node | drain) compadd -- ${{(f)"$(launch-ctl names nodes 2> /dev/null)"}} ;;
    signal) compadd {} ;;
    filter) compadd all ;;
    --rank | --lines | -n | --since | --interval | kill-rank) ;;
    *) compadd -- ${{(f)"$(launch-ctl names jobs 2> /dev/null)"}} ;;
  esac
}}
if [ "$funcstack[1]" = _launch-ctl ]; then _launch_ctl "$@"; else compdef _launch_ctl launch-ctl; fi
)sh",
                     fmt::join(command_names(commands), " "), options, signals);
}

// Inside single quotes of fish.
std::string fish_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string fish_script(const std::vector<ControlWords>& commands) {
  std::string text =
      "# fish completion for launch-ctl: launch-ctl --print-completion fish | source\n"
      "complete -c launch-ctl -f\n";
  for (const ControlWords& command : commands) {
    text += fmt::format("complete -c launch-ctl -n __fish_use_subcommand -a {} -d '{}'\n", command.command,
                        fish_quoted(command.help));
    for (const std::string& option : command.options)
      if (option.starts_with("--"))
        text += fmt::format("complete -c launch-ctl -n '__fish_seen_subcommand_from {}' -l {}\n", command.command,
                            option.substr(2));
  }
  text += "complete -c launch-ctl -n '__fish_seen_subcommand_from drain' -a '(launch-ctl names nodes 2> /dev/null)'\n";
  text += fmt::format("complete -c launch-ctl -n '__fish_seen_subcommand_from signal' -a '{}'\n", signals);
  text += "complete -c launch-ctl -n 'not __fish_use_subcommand' -a '(launch-ctl names jobs 2> /dev/null)'\n";
  return text;
}

bool is_plain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+@%:").find(c) != std::string_view::npos;
  });
}

std::string one_a_line(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    if (is_plain(name)) text += name + '\n';
  return text;
}

}  // namespace

Result<std::string> control_completion(std::string_view shell, const std::vector<ControlWords>& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  return usage_error(fmt::format("--print-completion {}: bash, zsh or fish would be right", shown(shell)));
}

std::string completed_jobs(const std::vector<NodeReport>& nodes) {
  std::set<std::string> names;
  for (const NodeReport& node : nodes) names.insert(node.run_id);
  return one_a_line(names);
}

std::string completed_nodes(const std::vector<NodeReport>& nodes) {
  std::set<std::string> names;
  for (const NodeReport& node : nodes) {
    if (node.node_rank >= 0) names.insert(std::to_string(node.node_rank));
    names.insert(node.host);
  }
  return one_a_line(names);
}

}  // namespace launch
