#include "launch/core/config/hosts_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/allocation.hpp"
#include "launch/core/cluster/host_list.hpp"
#include "launch/core/config/log_settings.hpp"
#include "launch/core/config/node_settings.hpp"
#include "launch/core/config/settle.hpp"
#include "launch/core/config/store_settings.hpp"
#include "launch/core/hosts/folded_output.hpp"
#include "launch/core/hosts/forwarded_env.hpp"
#include "launch/core/hosts/host_file.hpp"
#include "launch/core/hosts/host_reach.hpp"
#include "launch/core/hosts/host_selection.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr int most_fanout = 4096;
constexpr const char* this_host = "localhost";
constexpr std::string_view log_ending = ".log";
constexpr const char* host_prefix = "[${host}:${role_name}${local_rank}]:";

Error option_error(const Setting<std::string>& setting, const std::string& what) {
  return usage_error(fmt::format("{}: {}", as_typed(setting), what));
}

// What launch finds out itself. A value from the cluster does not count.
Status refuse_own(const Options& options) {
  const char* with = options.check.value ? "--check" : "--hosts";
  const auto refuse = [with](const std::string& origin, const char* why) {
    return usage_error(fmt::format("{}: with {}, {}; leave it out", origin, with, why));
  };
  if (options.node_rank.given()) return refuse(options.node_rank.origin, "launch counts the nodes itself");
  if (options.master_addr.given())
    return refuse(options.master_addr.origin, "launch finds the address of node 0 itself (--network chooses it)");
  if (options.rdzv_endpoint.given() && !options.rdzv_endpoint.value.empty())
    return refuse(options.rdzv_endpoint.origin, "launch finds the address of node 0 itself (--network chooses it)");
  if (options.standalone.value) return refuse(options.standalone.origin, "there may be several nodes");
  return {};
}

std::vector<HostEntry> entries_of(const std::vector<std::string>& names) {
  std::vector<HostEntry> entries;
  std::unordered_set<std::string_view> known;
  for (const std::string& name : names)
    if (known.insert(name).second) entries.push_back({"", name, std::nullopt, std::nullopt, {}, false});
  return entries;
}

Result<std::vector<HostEntry>> hosts_of_allocation(const Options& options, const HeadFacts& facts) {
  if (const auto list = facts.env.get("SLURM_JOB_NODELIST")) {
    auto names = parse_host_list(*list);
    if (!names) return usage_error(fmt::format("SLURM_JOB_NODELIST={}: {}", *list, names.error().message));
    return entries_of(*names);
  }
  if (!facts.batch_file.empty()) {
    auto file = parse_host_file(facts.batch_file);
    if (!file) return usage_error(fmt::format("{}: {}", host_file(facts.env), file.error().message));
    for (HostEntry& host : file->hosts) host.workers.reset();  // slots are processors there
    return std::move(file->hosts);
  }
  if (const auto names = working_hosts_of_lsf(facts.env); !names.empty()) return entries_of(names);
  return option_error(options.hosts,
                      "there is no allocation: none of SLURM_JOB_NODELIST, PBS_NODEFILE, PE_HOSTFILE, OAR_NODEFILE and "
                      "LSB_MCPU_HOSTS is set here; name the hosts, or start this in a job");
}

// With a host file of DeepSpeed, its files of variables count, too.
Status read_deepspeed_env(const HeadFacts& facts, HostsPlan& plan) {
  for (const FileText& file : facts.deepspeed_env) {
    if (!file.text) return usage_error(fmt::format("{}: {}", file.path, file.text.error().message));
    const auto variables = parse_variables(*file.text);
    if (!variables) return usage_error(fmt::format("{}: {}", file.path, variables.error().message));
    plan.file_env.insert(plan.file_env.end(), variables->begin(), variables->end());
    plan.notices.push_back(
        fmt::format("the workers get the variables of {}, since the host file is DeepSpeed's", file.path));
  }
  return {};
}

Result<std::vector<HostEntry>> read_hosts(const Options& options, const HeadFacts& facts, HostsPlan& plan) {
  if (options.hosts.given() && options.hostfile.given())
    return option_error(options.hostfile, "--hosts names the hosts already; give one of the two");
  if (options.hostfile.given()) {
    auto file = parse_host_file(facts.host_file);
    if (!file) return option_error(options.hostfile, file.error().message);
    for (const std::string& notice : file->notices)
      plan.notices.push_back(fmt::format("{}: {}", options.hostfile.value, notice));
    if (file->deepspeed)
      if (Status read = read_deepspeed_env(facts, plan); !read) return read.error();
    return std::move(file->hosts);
  }
  if (options.hosts.value == "auto") return hosts_of_allocation(options, facts);
  auto hosts = parse_hosts(options.hosts.given() ? options.hosts.value : this_host);
  if (!hosts) return option_error(options.hosts, hosts.error().message);
  return hosts;
}

Status choose_start(const Options& options, const HeadFacts& facts, HostsPlan& plan) {
  StartChoice& start = plan.start;
  start.self = facts.self;
  start.self_size = facts.self_size;
  start.machine = facts.machine;
  start.own_names = facts.own_names;
  for (const std::string_view word : split(options.ssh.value, ' '))
    if (!trim(word).empty()) start.ssh.emplace_back(trim(word));
  if (start.ssh.empty()) return option_error(options.ssh, "expected a program");
  const std::string& how = options.start_with.value;
  const bool in_slurm = facts.env.get("SLURM_JOB_ID").has_value() && options.hosts.value == "auto";
  if (how.starts_with("exec:")) {
    start.by = StartChoice::By::command;
    start.command = trim(std::string_view(how).substr(5));
    if (start.command.empty())
      return option_error(options.start_with, "expected a command after exec:, as in 'exec:docker exec -i {host}'");
  } else if (how == "srun" || (how == "auto" && in_slurm)) {
    start.by = StartChoice::By::srun;
    if (!facts.env.get("SLURM_JOB_ID"))
      return option_error(options.start_with, "this is not in an allocation of Slurm (SLURM_JOB_ID is not set)");
  } else if (how != "ssh" && how != "auto") {
    return option_error(options.start_with, "expected auto, ssh, srun or exec:COMMAND");
  }
  if (options.fanout.value < 1 || options.fanout.value > most_fanout)
    return usage_error(fmt::format("{}: expected hosts from 1 to {}", as_typed(options.fanout), most_fanout));
  plan.head.fanout = options.fanout.value;
  return {};
}

// How many nodes the job has, and which of the hosts.
Status choose_nodes(const Options& options, HostsPlan& plan) {
  auto& hosts = plan.hosts;
  const auto count = static_cast<int>(hosts.size());
  const auto spares =
      static_cast<int>(std::count_if(hosts.begin(), hosts.end(), [](const HostEntry& host) { return host.spare; }));
  std::stable_partition(hosts.begin(), hosts.end(), [](const HostEntry& host) { return !host.spare; });
  HeadPlan& head = plan.head;
  if (options.rdzv_backend.value != "static" && options.rdzv_backend.value != "c10d")
    return option_error(options.rdzv_backend, "with --hosts, launch hosts the store; it must be static or c10d");
  if (meets_elsewhere(options))
    return option_error(options.rdzv_conf, "with --hosts, launch hosts the store; leave store_type=file out");
  if (spares > 0 && options.rdzv_backend.given() && options.rdzv_backend.value != "c10d")
    return option_error(options.rdzv_backend, "a job with spares is elastic; leave it out");
  head.c10d = options.rdzv_backend.value == "c10d" || spares > 0;
  head.nnodes = options.nnodes.given() ? options.nnodes.value : std::to_string(count - spares);
  const auto limits = parse_limits(head.nnodes);
  if (!limits || limits->min < 1 || limits->min > limits->max)
    return option_error(options.nnodes, "expected a number of nodes, or MIN:MAX");
  if (limits->max > count - spares)
    return option_error(options.nnodes, fmt::format("there are {} (--hosts)", counted(count - spares, "host")));
  if (spares > 0 && limits->max == 1)
    return usage_error("a job of one node has no spares; name more hosts, or leave the spares out");
  // So that a spare may take over at all.
  if (spares > 0 && !options.max_restarts.given()) head.options.push_back(fmt::format("--max-restarts={}", spares));
  const bool others_stand_by = head.c10d && (spares > 0 || limits->min < limits->max);
  if (!others_stand_by) hosts.resize(static_cast<std::size_t>(limits->max));
  return {};
}

// Empty: workers can have the standard input.
std::string why_no_input(const Options& options, const HostsPlan& plan) {
  if (plan.head.c10d) return "the ranks of an elastic job move from host to host";
  if (!plan.detach_file.empty()) return "a job in the background reads none";
  if (options.hostfile.value == "-") return "it has the list of hosts";
  return "";
}

// Nobody types for a job without being asked to; all else that is not /dev/null is for rank 0, as with mpiexec. In an
// elastic job ranks move from host to host.
Status choose_input(const Options& options, const HeadFacts& facts, HostsPlan& plan) {
  const Setting<std::string>& choice = options.stdin_rank;
  HeadInput& input = plan.head.input;
  const std::string taken = why_no_input(options, plan);
  const auto rank = parse_int(choice.value);
  if (choice.given() && choice.value != "none" && choice.value != "all" && (!rank || *rank < 0))
    return option_error(choice, "expected the rank of a worker (0 or more), all or none");
  if (options.check.value || choice.value == "none") return {};
  if (!taken.empty() && choice.given())
    return option_error(choice, fmt::format("no worker can get the standard input: {}; leave it out", taken));
  if (!taken.empty() || (!choice.given() && !facts.input)) return {};
  input.readers = choice.value == "all" ? HeadInput::Readers::each : HeadInput::Readers::one;
  input.rank = rank.value_or(0);
  if (!choice.given()) plan.head.options.emplace_back("--stdin=0");
  return {};
}

// With a prefix of the user's own, each host folds the lines of its workers alone.
bool folds_here(const Options& options) {
  return options.fold.value && !options.log_line_prefix_template.given() && !options.check.value;
}

bool is_of_head(const OptionRow& row) {
  constexpr std::array others{"--nnodes", "--cluster", "--verdict", "--rdzv-id", "--explain", "--master-port"};
  return row.group == OptionGroup::hosts || std::find(others.begin(), others.end(), row.name) != others.end();
}

// The line of the ordinary launch on each host: what the user gave, and how its output looks here.
void write_line(const Options& options, const OptionLine& line, const HeadFacts& facts, HostsPlan& plan) {
  HeadPlan& head = plan.head;
  if (options.env_none.value)
    std::ranges::move(options_of_variables(facts.env, is_of_head), std::back_inserter(head.options));
  for (const GivenOption& given : line.options)
    if (!is_of_head(*given.row))
      head.options.push_back(given.value ? fmt::format("{}={}", given.row->name, *given.value)
                                         : std::string(given.row->name));
  if (!options.verbose.given() && plan.verbosity == Verbosity::verbose) head.options.emplace_back("--verbose");
  if (!options.quiet.given() && plan.verbosity == Verbosity::quiet) head.options.emplace_back("--quiet");
  // One that a variable gives stays here with the variable.
  const auto& prefix = options.log_line_prefix_template;
  head.folds = folds_here(options);
  const std::string own = head.folds ? std::string(node_prefix) : host_prefix;
  if (prefix.source != Source::flag)
    head.options.push_back("--log-line-prefix-template=" + (prefix.given() ? prefix.value : own));
  const bool no_color = !facts.env.get("NO_COLOR").value_or("").empty();
  if (head.folds) {
    head.options.emplace_back("--color=never");  // the last one counts
  } else if (!options.color.given() && facts.terminal && !no_color && !options.detach.given())
    head.options.push_back("--color=always");
  if (head.c10d) head.options.push_back("--rdzv-backend=c10d");
  const bool chosen = options.tee.given() || options.redirects.given() || options.log_dir.given();
  head.keeps_output = !chosen || (head.gathers_logs && !options.log_dir.given());
  head.program = line.program;
}

std::string joined(const std::vector<int>& numbers) { return fmt::format("{}", fmt::join(numbers, ",")); }

// Slurm has a tree of its own, and this host is the head's.
std::vector<int> choose_starters(const HostsPlan& plan) {
  const auto hosts = static_cast<int>(plan.hosts.size());
  if (plan.start.by == StartChoice::By::srun) return std::vector<int>(plan.hosts.size(), started_by_head);
  auto starters = starters_of(hosts, plan.head.fanout);
  for (std::size_t i = 0; i < starters.size(); ++i)
    if (is_here(plan.hosts[i], plan.start)) starters[i] = started_by_head;
  return starters;
}

void name_nodes(HostsPlan& plan) {
  const std::vector<int> starters = choose_starters(plan);
  for (const HostEntry& host : plan.hosts) {
    HeadNode node;
    node.starter = starters[plan.head.nodes.size()];
    node.host = shown_host(host);
    if (host.workers) node.options.push_back(fmt::format("--nproc-per-node={}", *host.workers));
    if (!host.devices.empty()) node.env.push_back("CUDA_VISIBLE_DEVICES=" + joined(host.devices));
    plan.head.nodes.push_back(std::move(node));
  }
}

std::string as_file_name(std::string run_id) {
  std::replace(run_id.begin(), run_id.end(), '/', '_');
  return run_id;
}

std::string detach_file(const Options& options, const HeadPlan& head) {
  if (!options.detach.given() || options.check.value) return "";  // a check leaves no file
  return options.detach.value == "auto" ? fmt::format("launch-{}.log", as_file_name(head.run_id))
                                        : options.detach.value;
}

// A report for programs must not stand among the lines of a log.
Status choose_report_file(HostsPlan& plan) {
  if (plan.detach_file.empty() || !plan.verdict.json) return {};
  if (plan.detach_file.starts_with("/dev/"))
    return usage_error(
        fmt::format("--verdict json: the report would stand beside {} (--detach); name a file for it with "
                    "--verdict=json:FILE",
                    plan.detach_file));
  plan.verdict.json = false;
  std::string name = plan.detach_file;
  if (name.ends_with(log_ending)) name.resize(name.size() - log_ending.size());
  plan.verdict.file = name + ".json";
  return {};
}

// Logs are found again only if each node has a folder of its own: the one of --log-dir may be shared, and not be empty.
Status gather(const Options& options, HostsPlan& plan) {
  if (!options.gather_logs.given() || options.check.value) return {};
  if (options.log_dir.value == "/dev/null")
    return option_error(options.gather_logs, "--log-dir=/dev/null keeps no logs; leave one of the two out");
  plan.gather_folder = options.gather_logs.value;
  plan.head.gathers_logs = true;
  if (!options.log_dir.given()) return {};
  for (HeadNode& node : plan.head.nodes) {
    node.logs = fmt::format("{}/{}/{}", options.log_dir.value, as_file_name(plan.head.run_id), node.host);
    node.options.push_back("--log-dir=" + node.logs);
  }
  return {};
}

// Of torchrun's variables those that say what the head says to each node.
constexpr std::array own_variables{"PET_NNODES",        "PET_NODE_RANK",  "PET_MASTER_ADDR", "PET_MASTER_PORT",
                                   "PET_RDZV_ENDPOINT", "PET_STANDALONE", "PET_RDZV_ID",     "PET_RDZV_BACKEND"};

Status forward(const Options& options, const OptionLine& line, const HeadFacts& facts, HostsPlan& plan) {
  EnvironmentChoice choice;
  choice.none = options.env_none.value;
  choice.named = plan.file_env;
  for (const GivenOption& given : line.options)
    if (given.row->name == "--env" && given.value) choice.named.push_back(*given.value);
  if (Status fits = check_named(choice, facts.env); !fits) return fits;
  Environment env = facts.env;
  for (const char* name : own_variables) env.remove(name);
  plan.head.env = forwarded(env, choice);
  plan.local_env = local_login(env, choice);
  plan.head.folder = facts.folder;
  plan.head.umask = facts.umask;
  return {};
}

Status choose_port(const Options& options, HeadPlan& head) {
  if (!options.master_port.given()) return {};
  const auto port = check_port(options.master_port.value, as_typed(options.master_port), 1);
  if (!port) return port.error();
  head.port = *port;
  return {};
}

Status plan_check(const Options& options, const OptionLine& line, HostsPlan& plan) {
  if (!options.check.value && options.json.value)
    return usage_error(fmt::format("{}: it is for --check; a report of a failed job is JSON with --verdict=json",
                                   options.json.origin));
  if (!options.check.value) return {};
  CheckPlan check;
  check.json = options.json.value;
  const std::string& count = options.nproc_per_node.value;
  for (const HostEntry& host : plan.hosts) {
    const int workers = host.workers.value_or(parse_int(count).value_or(0));
    const bool by_devices = !host.workers && (count == "gpu" || count == "xpu" || count == "npu");
    check.needs.push_back({!line.program.empty(), by_devices, workers});
  }
  plan.head.check = std::move(check);
  return {};
}

Status read_verdict(const Options& options, VerdictChoice& verdict) {
  const std::string& form = options.verdict.value;
  verdict.json = form == "json";
  if (form.starts_with("json:")) verdict.file = form.substr(5);
  if (form == "text" || verdict.json || !verdict.file.empty()) return {};
  return option_error(options.verdict, "expected text, json or json:FILE");
}

}  // namespace

bool names_hosts(const Options& options) {
  return options.hosts.given() || options.hostfile.given() || options.check.value || options.json.value;
}

Result<HostsPlan> plan_hosts(const Options& options, const OptionLine& line, const HeadFacts& facts) {
  HostsPlan plan;
  if (Status fits = refuse_own(options); !fits) return fits.error();
  auto hosts = read_hosts(options, facts, plan);
  if (!hosts) return hosts.error();
  auto selected = select_hosts(*std::move(hosts), options.include.given() ? options.include.value : "",
                               options.exclude.given() ? options.exclude.value : "");
  if (!selected) return selected.error();
  plan.hosts = *std::move(selected);
  if (Status fits = choose_start(options, facts, plan); !fits) return fits.error();
  if (Status fits = choose_nodes(options, plan); !fits) return fits.error();
  if (Status fits = read_verdict(options, plan.verdict); !fits) return fits.error();
  if (Status fits = settle_verbosity(options, facts.env, plan.verbosity); !fits) return fits.error();
  if (Status fits = plan_check(options, line, plan); !fits) return fits.error();
  name_nodes(plan);
  plan.head.run_id = options.rdzv_id.given() && !options.rdzv_id.value.empty() ? options.rdzv_id.value : facts.fresh_id;
  if (Status fits = choose_port(options, plan.head); !fits) return fits.error();
  if (Status fits = check_network(options.network.value); !fits)
    return option_error(options.network, fits.error().message);
  plan.head.network = options.network.given() ? options.network.value : "";
  plan.head.version = LAUNCH_VERSION;
  plan.head.may_copy = !options.no_copy.value && plan.start.by == StartChoice::By::ssh;
  plan.head.sets_interface = !options.no_ifname.value;
  plan.head.silence = host_silence(options.heartbeat_timeout.value);
  if (Status fits = settle_requeue(options, plan.preemption); !fits) return fits.error();
  if (!options.requeue_on.value.empty()) plan.head.requeue_exit = plan.preemption.requeue_exit;
  plan.detach_file = detach_file(options, plan.head);
  if (Status fits = choose_report_file(plan); !fits) return fits.error();
  if (Status fits = gather(options, plan); !fits) return fits.error();
  if (Status fits = choose_input(options, facts, plan); !fits) return fits.error();
  write_line(options, line, facts, plan);
  if (Status fits = settle_signals(options, plan.signals, plan.preemption.signal); !fits) return fits.error();
  plan.parent_error_file = facts.env.get("TORCHELASTIC_ERROR_FILE").value_or("");
  if (Status fits = forward(options, line, facts, plan); !fits) return fits.error();
  return plan;
}

}  // namespace launch
