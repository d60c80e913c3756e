#include "launch/core/hosts/connection_words.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_read = 4096;  // of each text, from its end
constexpr std::size_t longest_explained = 400;
constexpr std::size_t longest_quote = 120;
constexpr std::size_t longest_hosts = 300;
constexpr std::size_t most_problems = 20;

// What a line of text tells. {port}, {seconds} and {line}, in quotes, are filled in.
struct WordRule {
  std::string_view text;  // lower case, in one line
  std::string_view also;  // in any line
  std::string_view reason;
  int exit_code = 1;
  bool may_try_again = false;
};

struct RuleMatch {
  WordRule rule;
  std::string line;  // as it was written
};

struct WrittenLine {
  std::string text;
  std::string lower;
};

constexpr std::string_view no_launch =
    "launch is not on the PATH of a login without a terminal; install it there or set PATH in the shell's rc file";
constexpr std::string_view too_old = "launch there is too old for --hosts; install the same version on all hosts";
constexpr std::string_view other_build = "launch there is for another architecture or system; install the one for it";
constexpr std::string_view not_executable =
    "launch is there and may not be executed (its mode, or a file system that is mounted noexec): {line}";
constexpr std::string_view job_gone = "the Slurm job is gone (cancelled, or its time limit)";
constexpr std::string_view busy =
    "sshd closed the connection before its greeting: too many are being made at a time (MaxStartups in sshd_config; "
    "a smaller --fanout helps), or it refuses this machine";
constexpr std::string_view key_or_password =
    "ssh wants a password; set up a key (ssh-copy-id HOST), launch never asks; if the key has a passphrase: ssh-add";

// From the host's own programs, or from srun, docker and kubectl. Looked for before those of ssh, since they name
// launch or are certain. A greeting of the day may have any words, so what names launch stands first.
constexpr WordRule of_start[] = {
    {"error while loading shared libraries", "", "launch is there and lacks a library: {line}"},
    {"not found (required by", "", "launch is there, built for a newer system: {line}"},
    {"cannot execute: required file not found", "", other_build},
    {"check the interpreter or linker", "", other_build},
    {"exec format error", "", other_build},
    {"cannot execute binary file", "", other_build},
    {"the file could not be run by the operating system", "", other_build},
    {"\x7f"
     "elf",
     "", other_build},
    {"could not chdir to home directory", "", "the home directory is not there (not mounted?): {line}"},
    {"launch: not found", "", no_launch},
    {"launch: command not found", "", no_launch},
    {"launch: no such file or directory", "", no_launch},
    {"launch\": executable file not found", "", no_launch},
    {"command not found: launch", "", no_launch},
    {"unknown command: launch", "", no_launch},
    {"unknown command 'launch'", "", no_launch},
    {"unknown command: /", "/launch", no_launch},
    {"no such file or directory: /", "/launch", no_launch},
    {"exists but is not an executable file", "", not_executable},
    {"launch: permission denied", "", not_executable},
    {"exec: restricted", "", "the login's shell is a restricted one: {line}"},
    {"unknown option --remote", "", too_old},
    {"no space left on device", "", "no space is left on a disk of it: {line}"},
    {"disk quota exceeded", "", "the disk quota there is used up: {line}"},
    {"pam_slurm_adopt", "", "logins there need a running Slurm job on it; start launch in the job (salloc, sbatch)"},
    {"account is currently not available", "", "this account may not log in there (its shell is nologin)"},
    {"password has expired", "", "the password there has expired; log in once by hand"},
    {"password change required", "", "the password there must be changed; log in once by hand"},
    {"users are not permitted to log in", "", "it permits no logins now: {line}"},
    {"invalid node name", "", "Slurm does not know the node", 2},
    {"requested node configuration is not available", "", "the node is not in this Slurm job, or lacks what is asked"},
    {"unable to contact slurm controller", "", "Slurm's controller does not answer"},
    {"could not establish a configuration source", "", "srun finds no configuration (slurm.conf, SLURM_CONF)"},
    {"invalid job id", "", job_gone},
    {"slurm job", "has expired", job_gone},
    {"due to time limit", "", job_gone},
    {"*** step", "cancelled at", "the Slurm step was cancelled (scancel, or the job's end)"},
    {"application launch failed", "", "srun does not reach the node's slurmd; sinfo tells its state"},
    {"unable to create step", "", "Slurm starts no step there: {line}"},
    {"no such container", "", "there is no such container", 2},
    {"no container with name or id", "", "there is no such container", 2},
    {"container", "is not running", "the container is not running"},
    {"error from server (notfound): pods", "", "there is no such pod (in this namespace)", 2},
};

// From ssh before a login: not if the shell there has told its exit code.
constexpr WordRule of_ssh[] = {
    {"remote host identification has changed", "",
     "the host key has changed (another machine, or installed again); if that is right: ssh-keygen -R HOST, then ssh "
     "HOST once by hand"},
    {"host key verification failed", "",
     "the host key is unknown; ssh HOST once by hand, or --ssh \"ssh -o StrictHostKeyChecking=accept-new\""},
    {"too many authentication failures", "",
     "ssh offered too many keys; name one with IdentityFile and IdentitiesOnly in ~/.ssh/config"},
    {"are too open", "permission denied (", "ssh ignores a private key that others may read; chmod 600 it: {line}"},
    {"permission denied (", "keyboard-interactive", key_or_password},
    {"permission denied (", "password", key_or_password},
    {"permission denied (", "",
     "it takes none of ssh's keys; add one to ~/.ssh/authorized_keys there; if the key has a passphrase: ssh-add"},
    {"could not resolve hostname", "temporary failure in name resolution",
     "the name cannot be looked up now: no name server answers"},
    {"could not resolve hostname", "", "ssh does not know the name; check its spelling, DNS and ~/.ssh/config", 2},
    {"hostname contains invalid characters", "", "this is not the name of a host", 2},
    {"open failed: connect failed: name or service not known", "", "the jump host does not know the name", 2},
    {"open failed: connect failed: connection refused", "",
     "nothing listens on port {port} (sshd?), says the jump host"},
    {"open failed: connect failed: connection timed out", "",
     "no answer on port {port} (down, or a firewall), says the jump host", 124},
    {"open failed: connect failed: no route to host", "", "no route to it (down, or a firewall), says the jump host"},
    {"open failed: administratively prohibited", "", "the jump host forbids connections to others"},
    {"during banner exchange", "timed out",
     "port {port} is open, and sshd did not greet within {seconds} s (busy, or something else listens there)", 124},
    {"connect to host", "connection timed out", "no answer on port {port} within {seconds} s (down, or a firewall)",
     124},
    {"connect to host", "operation timed out", "no answer on port {port} within {seconds} s (down, or a firewall)",
     124},
    {"timeout, server", "not responding", "it stopped answering (down, or the network is cut)", 124},
    {"connect to host", "no route to host", "no route to it on port {port} (down, or a firewall)"},
    {"connect to host", "network is unreachable", "no route to its network"},
    {"connect to host", "connection refused", "nothing listens on port {port} (sshd?)"},
    {"unable to negotiate", "", "ssh and sshd agree on no method: {line}"},
    {"command-line: line ", "", "ssh does not take its options: {line}", 2},
    {"command-line line ", "", "ssh does not take its options: {line}", 2},
    {"unknown option -- ", "", "ssh does not take its options: {line}", 2},
    {"bad port '", "", "ssh does not take its options: {line}", 2},
    {"banner line contains invalid characters", "", "what listens on port {port} is not sshd"},
    {"exchange_identification:", "connection closed by remote host", busy, 1, true},
    {"exchange_identification:", "connection reset by peer", busy, 1, true},
};

std::string_view end_of(std::string_view text) { return text.substr(text.size() - std::min(text.size(), most_read)); }

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::vector<WrittenLine> lines_of(std::string_view text) {
  std::vector<WrittenLine> lines;
  for (const std::string_view line : split(end_of(text), '\n')) {
    std::string plain(trim(without_colors(line)));
    if (!plain.empty()) lines.push_back({plain, lower_case(plain)});
  }
  return lines;
}

const WrittenLine* line_with(const std::vector<WrittenLine>& lines, std::string_view text) {
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [&](const WrittenLine& one) { return one.lower.find(text) != std::string::npos; });
  return line == lines.end() ? nullptr : &*line;
}

template <std::size_t size>
std::optional<RuleMatch> first_match(const WordRule (&rules)[size], const std::vector<WrittenLine>& lines) {
  for (const WordRule& rule : rules) {
    const WrittenLine* line = line_with(lines, rule.text);
    if (line && line_with(lines, rule.also)) return RuleMatch{rule, line->text};
  }
  return std::nullopt;
}

bool has_exited_with(const LostConnection& lost, int code) {
  return lost.status == ExitStatus{ExitStatus::Kind::exited, code};
}

std::optional<RuleMatch> match(const LostConnection& lost) {
  if (lost.status.kind == ExitStatus::Kind::signalled) return std::nullopt;
  // docker writes its errors to standard output.
  if (auto found = first_match(of_start, lines_of(fmt::format("{}\n{}", end_of(lost.noise), end_of(lost.errors)))))
    return found;
  if (has_exited_with(lost, 126) || has_exited_with(lost, 127)) return std::nullopt;
  return first_match(of_ssh, lines_of(lost.errors));
}

std::string in_quotes(std::string_view text) {
  const std::string plain = without_colors(trim(text));
  return fmt::format("\"{}{}\"", without_controls(plain, longest_quote), plain.size() > longest_quote ? "..." : "");
}

// The last line that says more than that there was an error.
std::string telling_line(const std::vector<WrittenLine>& lines) {
  constexpr std::string_view idle[] = {"exited with exit code", "job step aborted", "^~", "force terminated"};
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (std::none_of(std::begin(idle), std::end(idle),
                     [&](std::string_view one) { return line->lower.find(one) != std::string::npos; }))
      return line->text;
  return lines.empty() ? "" : lines.back().text;
}

// What stands between two texts.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find(after));
}

// ssh's message is about another host that it has to go through.
std::string_view jump_host(const LostConnection& lost, const RuleMatch& found) {
  if (lost.errors.find("exchange_identification: ") == std::string::npos) return {};
  std::string_view name = between(found.line, "connect to host ", " port ");
  if (name.empty()) name = between(found.line, "resolve hostname ", ": ");
  return name == lost.host ? std::string_view() : name;
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

std::string filled(const LostConnection& lost, const RuleMatch& found) {
  std::string text(found.rule.reason);
  const std::string_view after = between(found.line, " port ", ":");
  const auto port = parse_int(after.substr(0, after.find(' ')));
  replace(text, "{port}", std::to_string(port.value_or(lost.port)));
  replace(text, "{seconds}", std::to_string(lost.patience));
  replace(text, "{line}", in_quotes(found.line));
  const std::string_view way = jump_host(lost, found);
  return way.empty() ? text : fmt::format("jump host {}: {}", shown(way), text);
}

// Shells in other languages still name what they did not find.
bool lacks_launch(const LostConnection& lost, const std::vector<WrittenLine>& errors) {
  return has_exited_with(lost, 127) && (errors.empty() || line_with(errors, "launch"));
}

// What no rule knows.
std::string general_reason(const LostConnection& lost) {
  const auto errors = lines_of(lost.errors);
  const auto noise = lines_of(lost.noise);
  const std::string program = without_controls(lost.program, 40);
  const std::string last = telling_line(errors);
  const std::string said = last.empty() ? "" : ": " + in_quotes(last);
  if (lost.status.kind == ExitStatus::Kind::signalled)
    return fmt::format("{} was killed by {}{}", program, to_text(lost.status), said);
  if (!lost.greeted && lacks_launch(lost, errors)) return std::string(no_launch);
  if (has_exited_with(lost, 126) && line_with(errors, "launch"))
    return fmt::format("launch is there and could not be executed{}", said);
  std::string end = fmt::format("{} ended with {}{}", program, to_text(lost.status), said);
  if (lost.greeted) return lost.status.ok() ? "launch there has left" : end;
  if (!noise.empty())
    return fmt::format("the login said {} and launch did not start; look at its shell's rc files ({})",
                       in_quotes(noise.back().text), end);
  if (lost.status.ok()) return end + " before launch started; look at the rc files of the login's shell";
  if (last.empty() && has_exited_with(lost, 255)) return end + " and gave no reason; ssh HOST by hand may tell more";
  return end;
}

struct ProblemGroup {
  std::string_view reason;
  std::vector<std::string> hosts{};
  std::set<std::string_view> names{};
};

std::vector<ProblemGroup> by_reason(const std::vector<HostProblem>& problems) {
  std::vector<ProblemGroup> groups;
  std::map<std::string_view, std::size_t> found;
  for (const HostProblem& problem : problems) {
    const auto [place, is_new] = found.try_emplace(problem.reason, groups.size());
    if (is_new) groups.push_back({problem.reason});
    groups[place->second].hosts.push_back(problem.host);
    groups[place->second].names.insert(problem.host);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const ProblemGroup& left, const ProblemGroup& right) {
    return left.names.size() > right.names.size();
  });
  return groups;
}

// All of them if they fit into a line, else some and their number.
std::string named(const ProblemGroup& group) {
  const std::string all = fold_hosts(group.hosts);
  if (all.size() <= longest_hosts) return without_controls(all, all.size());
  std::string_view some = beginning_of(all, longest_hosts);
  if (const auto comma = some.rfind(','); comma != std::string_view::npos) some = some.substr(0, comma);
  const auto open = some.rfind('[');
  const bool is_inside = open != std::string_view::npos && some.find(']', open) == std::string_view::npos;
  return fmt::format("{},...{} ({})", without_controls(some, some.size()), is_inside ? "]" : "",
                     counted(std::ssize(group.names), "host"));
}

}  // namespace

HostProblem explain(const LostConnection& lost) {
  if (!lost.starter.empty())
    return {lost.host, fmt::format("it went through {}, whose own connection has ended", shown(lost.starter)), 1};
  const auto found = match(lost);
  const std::string reason = found ? filled(lost, *found) : general_reason(lost);
  return {lost.host, without_controls(reason, longest_explained), found ? found->rule.exit_code : 1};
}

bool may_try_again(const LostConnection& lost) {
  const auto found = match(lost);
  return found && found->rule.may_try_again;
}

std::vector<std::string> fold_problems(const std::vector<HostProblem>& problems) {
  std::vector<std::string> lines;
  std::set<std::string_view> rest;
  for (const ProblemGroup& group : by_reason(problems)) {
    if (lines.size() < most_problems) {
      lines.push_back(fmt::format("{}: {}", named(group), without_controls(group.reason, longest_explained)));
    } else {
      rest.insert(group.names.begin(), group.names.end());
    }
  }
  if (!rest.empty()) lines.push_back(fmt::format("and {}", counted(std::ssize(rest), "more host")));
  return lines;
}

bool lacks_launch(const LostConnection& lost) {
  const std::string reason = explain(lost).reason;
  return reason == no_launch || reason == too_old;
}

}  // namespace launch
