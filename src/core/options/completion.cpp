#include "launch/core/options/completion.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/options/option_table.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

// Each script serves both names of the command: `launch`, and `launchrun`, which packages add.
std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table()) {
    if (!row.short_name.empty()) names.emplace_back(row.short_name);
    names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> names_with_underscores() {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table())
    if (std::string other = underscored(row.name); other != row.name) names.push_back(std::move(other));
  return names;
}

// All ways to write the option.
std::vector<std::string> spellings_of(const OptionRow& row) {
  std::vector<std::string> all{std::string(row.name)};
  if (const std::string other = underscored(row.name); other != row.name) all.push_back(other);
  if (!row.short_name.empty()) all.emplace_back(row.short_name);
  return all;
}

// Options whose next word is their value: completion must know where the program begins.
std::vector<std::string> names_with_values() {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table()) {
    if (row.takes != OptionValue::required) continue;
    for (std::string& name : spellings_of(row)) names.push_back(std::move(name));
  }
  return names;
}

std::string bash_text() {
  std::string choices;
  for (const OptionRow& row : option_table()) {
    if (row.takes != OptionValue::required || row.choices.empty()) continue;
    choices += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                           fmt::join(spellings_of(row), " | "), fmt::join(row.choices, " "));
  }
  return fmt::format(R"sh(# bash completion for launch: eval "$(launch --print-completion bash)"
_launch() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}" at=1 each
  COMPREPLY=()
  while [ "$at" -lt "$COMP_CWORD" ]; do
    each="${{COMP_WORDS[at]}}"
    case "$each" in
      {}) at=$((at + 1)); [ "${{COMP_WORDS[at]}}" = "=" ] && at=$((at + 1)) ;;
      -*) [ "${{COMP_WORDS[at + 1]}}" = "=" ] && at=$((at + 2)) ;;
      *) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    esac
    while [[ "${{COMP_WORDS[at + 1]}}" == :* ]]; do at=$((at + 2)); done  # a value is cut at its colons
    at=$((at + 1))
  done
  [ "$before" = "=" ] && before="${{COMP_WORDS[COMP_CWORD - 2]}}"
  [ "$word" = "=" ] && word=""
  case "$before" in
{}    {}) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
  esac
  case "$word" in
    --*_*) COMPREPLY=($(compgen -W '{}' -- "$word")) ;;
    -*) COMPREPLY=($(compgen -W '{}' -- "$word")) ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}}
complete -o filenames -F _launch launch launchrun
)sh",
                     fmt::join(names_with_values(), " | "), choices, fmt::join(names_with_values(), " | "),
                     fmt::join(names_with_underscores(), " "), fmt::join(option_names(), " "));
}

// Quoted for zsh's _arguments, where brackets, colons and quotes have a meaning.
std::string zsh_quoted(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result;
}

std::string zsh_line(const OptionRow& row, std::string_view name) {
  std::string line = fmt::format("    '*{}{}[{}]", name,
                                 row.takes == OptionValue::required && name[1] == '-' ? "=" : "", zsh_quoted(row.text));
  if (row.takes == OptionValue::required) {
    line += row.choices.empty() ? fmt::format(":{}:_files", zsh_quoted(row.value))
                                : fmt::format(":{}:({})", zsh_quoted(row.value), fmt::join(row.choices, " "));
  }
  return line + "' \\\n";
}

std::string zsh_text() {
  std::string lines;
  for (const OptionRow& row : option_table()) {
    lines += zsh_line(row, row.name);
    if (!row.short_name.empty()) lines += zsh_line(row, row.short_name);
  }
  return fmt::format(R"sh(#compdef launch launchrun
# zsh completion for launch: as a file named _launch in a folder of $fpath, or eval "$(launch --print-completion zsh)"
_launch() {{
  _arguments -S \
{}    '1:program:_files' \
    '*::arguments:_files'
}}
if [ "$funcstack[1]" = _launch ]; then _launch "$@"; else compdef _launch launch launchrun; fi
)sh",
                     lines);
}

std::string tcsh_text() {
  std::string values;
  for (const OptionRow& row : option_table()) {
    if (row.takes == OptionValue::required && !row.choices.empty())
      values += fmt::format(" \\\n  'n/{}/({})/'", row.name, fmt::join(row.choices, " "));
  }
  std::vector<std::string_view> long_names;
  for (const OptionRow& row : option_table()) long_names.push_back(row.name.substr(2));
  const std::string words = fmt::format("{} \\\n  'c/--/({})/' \\\n  'p/*/f/'\n", values, fmt::join(long_names, " "));
  return fmt::format(
      "# tcsh completion for launch: launch --print-completion tcsh > FILE; source FILE\n"
      "complete launch{0}complete launchrun{0}",
      words);
}

// Quoted for fish, between single quotes.
std::string fish_quoted(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string fish_line(const OptionRow& row) {
  std::string line = fmt::format("complete -c launch -n __launch_before_program -l {}", row.name.substr(2));
  if (!row.short_name.empty()) line += fmt::format(" -s {}", row.short_name.substr(1));
  const bool takes_value = row.takes == OptionValue::required;
  if (takes_value) line += " -r";
  if (takes_value && !row.choices.empty()) line += fmt::format(" -f -a '{}'", fmt::join(row.choices, " "));
  return line + fmt::format(" -d '{}'\n", fish_quoted(row.brief.empty() ? row.text : row.brief));
}

std::string fish_text() {
  std::string lines;
  for (const OptionRow& row : option_table()) lines += fish_line(row);
  return fmt::format(
      R"sh(# fish completion for launch: launch --print-completion fish > ~/.config/fish/completions/launch.fish
function __launch_before_program
    set -l is_value no
    for each in (commandline -opc)[2..-1]
        if test $is_value = yes
            set is_value no
            continue
        end
        switch $each
            case {}
                set is_value yes
            case '-*'
            case '*'
                return 1
        end
    end
end
{}complete -c launchrun -w launch
)sh",
      fmt::join(names_with_values(), " "), lines);
}

}  // namespace

Result<std::string> completion_text(std::string_view shell) {
  if (shell == "bash") return bash_text();
  if (shell == "zsh") return zsh_text();
  if (shell == "tcsh") return tcsh_text();
  if (shell == "fish") return fish_text();
  return usage_error(fmt::format("--print-completion {}: expected bash, zsh, tcsh or fish", shown(shell)));
}

}  // namespace launch
