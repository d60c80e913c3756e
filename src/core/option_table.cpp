#include "launch/core/option_table.hpp"

#include <algorithm>

namespace launch {
namespace {

using enum OptionGroup;
using enum OptionValue;

std::vector<OptionRow> node_rows() {
  return {
      {.name = "--nnodes",
       .group = nodes,
       .value = "N|MIN:MAX",
       .variables = {"PET_NNODES"},
       .initial = "1",
       .text = "nodes of the job; of a range, static waits for MAX, c10d starts with MIN or more"},
      {.name = "--nproc-per-node",
       .group = nodes,
       .value = "COUNT",
       .variables = {"PET_NPROC_PER_NODE"},
       .initial = "1",
       .text = "workers on this node: a number; cpu, one for each usable CPU; gpu, xpu or npu, one for each visible "
               "device; auto, one for each device of any kind, or else for each CPU",
       .choices = {"auto", "cpu", "gpu", "xpu", "npu"}},
      {.name = "--node-rank",
       .group = nodes,
       .value = "K",
       .variables = {"PET_NODE_RANK"},
       .initial = "0",
       .text = "which node this is, counted from 0"},
      {.name = "--master-addr",
       .group = nodes,
       .value = "HOST",
       .variables = {"PET_MASTER_ADDR"},
       .initial = "127.0.0.1",
       .text = "where node 0 is"},
      {.name = "--master-port",
       .group = nodes,
       .value = "PORT",
       .variables = {"PET_MASTER_PORT"},
       .initial = "29500",
       .text = "what node 0 listens on; one node without this option takes a free port"},
      {.name = "--local-addr",
       .group = nodes,
       .value = "HOST",
       .variables = {"PET_LOCAL_ADDR"},
       .text = "address of this node, for backends that choose MASTER_ADDR themselves"},
      {.name = "--standalone",
       .group = nodes,
       .takes = none,
       .variables = {"PET_STANDALONE"},
       .text = "one node by itself on a free port; an address, port, backend or id given as well does not count"},
  };
}

std::vector<OptionRow> rendezvous_rows() {
  return {
      {.name = "--rdzv-backend",
       .group = rendezvous,
       .value = "NAME",
       .variables = {"PET_RDZV_BACKEND"},
       .initial = "static",
       .text = "static: each node says its rank. c10d: ranks are dealt out, and nodes may come later",
       .choices = {"static", "c10d"}},
      {.name = "--rdzv-endpoint",
       .group = rendezvous,
       .value = "HOST[:PORT]",
       .variables = {"PET_RDZV_ENDPOINT"},
       .text = "static: in place of --master-addr and --master-port; c10d: where the store is, port 29400 unless "
               "given. [ADDRESS]:PORT for IPv6"},
      {.name = "--rdzv-id",
       .group = rendezvous,
       .value = "ID",
       .variables = {"PET_RDZV_ID"},
       .initial = "none",
       .text = "name of the job, equal on all nodes; one node without it makes a new one"},
      {.name = "--rdzv-conf",
       .group = rendezvous,
       .value = "KEY=VALUE,...",
       .variables = {"PET_RDZV_CONF"},
       .initial = "timeout=900",
       .text = "of static: timeout=SECONDS, the wait for all nodes. Of c10d: join_timeout (600), last_call_timeout "
               "(30), is_host and others, see docs/elastic.md"},
      {.name = "--join",
       .group = rendezvous,
       .value = "WHEN",
       .initial = "any",
       .text = "when a c10d job takes in a node that comes while there is room: any, at once, and all workers start "
               "anew; between-restarts, when they start anew for another reason",
       .choices = {"any", "between-restarts"},
       .ours = true},
  };
}

std::vector<OptionRow> worker_rows() {
  return {
      {.name = "--module",
       .short_name = "-m",
       .group = workers,
       .takes = none,
       .variables = {"PET_MODULE"},
       .text = "PROGRAM is the name of a Python module"},
      {.name = "--no-python",
       .group = workers,
       .takes = none,
       .variables = {"PET_NO_PYTHON"},
       .text = "execute PROGRAM as it is; programs that are no Python scripts need it not"},
      {.name = "--run-path",
       .group = workers,
       .takes = none,
       .variables = {"PET_RUN_PATH"},
       .text = "run the Python file PROGRAM by runpy.run_path; wins over -m and --no-python"},
      {.name = "--role",
       .group = workers,
       .value = "NAME",
       .variables = {"PET_ROLE"},
       .initial = "default",
       .text = "what kind of worker this node runs; ranks are counted within a role, too"},
      {.name = "--virtual-local-rank",
       .group = workers,
       .takes = none,
       .variables = {"PET_VIRTUAL_LOCAL_RANK"},
       .text = "each worker sees one GPU, by CUDA_VISIBLE_DEVICES, and has LOCAL_RANK 0"},
      {.name = "--numa-binding",
       .group = workers,
       .value = "MODE",
       .text = "bind each worker to the CPUs and memory near its device: node, socket, exclusive (cores of its own) or "
               "core-complex (cores that share a cache)",
       .choices = {"node", "socket", "exclusive", "core-complex"}},
      {.name = "--omp-threads",
       .group = workers,
       .value = "N|auto",
       .text = "OMP_NUM_THREADS of each worker; auto divides the usable cores among them. Without it: what is set, or "
               "else 1 where there are several workers",
       .choices = {"auto"},
       .ours = true},
      {.name = "--stdin",
       .group = workers,
       .value = "RANK|all|none",
       .text = "who reads the standard input of launch: the worker of this rank, each worker a copy of its own, or "
               "none. Without it: all share it, as with torchrun, and each byte goes to whoever reads first",
       .choices = {"all", "none"},
       .ours = true},
      {.name = "--start-method",
       .group = workers,
       .value = "NAME",
       .variables = {"PET_START_METHOD"},
       .initial = "spawn",
       .text = "without effect: every worker is a program of its own",
       .choices = {"spawn", "fork", "forkserver"}},
  };
}

std::vector<OptionRow> ending_rows() {
  return {
      {.name = "--max-restarts",
       .group = ending,
       .value = "N",
       .variables = {"PET_MAX_RESTARTS"},
       .initial = "0",
       .text = "how often all workers of the job start anew after a worker failed, on every node"},
      {.name = "--restart-on",
       .group = ending,
       .value = "END,...",
       .text = "restart only after these ends of a worker: exit codes, signals, or start (it could not be started)",
       .ours = true},
      {.name = "--fail-on",
       .group = ending,
       .value = "END,...",
       .text = "never restart after these ends; wins over --restart-on",
       .ours = true},
      {.name = "--restart-window",
       .group = ending,
       .value = "SECONDS",
       .text = "count only the restarts of the last SECONDS against --max-restarts; otherwise all count",
       .ours = true},
      {.name = "--repeat-errors",
       .group = ending,
       .takes = none,
       .text = "restart even after the same Python exception twice in a row, without progress",
       .ours = true},
      {.name = "--max-membership-restarts",
       .group = ending,
       .value = "N",
       .text = "how often all workers of a c10d job start anew because nodes came or went; then nodes that come "
               "stand by, and the loss of one ends the job. Without it: any number of times",
       .ours = true},
      {.name = "--monitor-interval",
       .group = ending,
       .value = "SECONDS",
       .variables = {"PET_MONITOR_INTERVAL"},
       .initial = "0.1",
       .text = "without effect: the kernel tells when a worker ends, nothing is polled"},
      {.name = "--heartbeat-timeout",
       .group = ending,
       .value = "SECONDS",
       .initial = "30",
       .text = "a node whose launch says nothing for so long has failed; 0 waits for ever; the same on every node",
       .ours = true},
      {.name = "--shutdown-timeout",
       .group = ending,
       .value = "SECONDS",
       .variables = {"PET_SHUTDOWN_TIMEOUT", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
       .initial = "30",
       .text = "what workers have to end before SIGKILL; 0 kills at once"},
      {.name = "--kill-grace",
       .group = ending,
       .value = "SECONDS",
       .initial = "5",
       .text = "how long launch stays after SIGKILL for what the kernel does not end, before it names it and leaves",
       .ours = true},
      {.name = "--verdict",
       .group = ending,
       .value = "FORM",
       .initial = "text",
       .text = "of a failed job, on standard error: text, or json, one line; json:FILE leaves the json in FILE and "
               "shows the text",
       .choices = {"text", "json"},
       .ours = true},
      {.name = "--evidence",
       .group = ending,
       .value = "WHAT[:SIGNAL]",
       .initial = "states",
       .text = "what is kept of the workers before a failure ends them: none; states of their processes, and Python "
               "stacks where it smells of a hang; stacks always. By py-spy, else by SIGNAL, for which workers have "
               "registered faulthandler",
       .choices = {"none", "states", "stacks"},
       .ours = true},
      {.name = "--signals-to-handle",
       .group = ending,
       .value = "NAME,...",
       .variables = {"PET_SIGNALS_TO_HANDLE"},
       .initial = "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
       .text = "signals to launch that are passed on to the workers and end the job"},
      {.name = "--preempt-signal",
       .group = ending,
       .value = "NAME",
       .text = "a scheduler's early warning: passed on to the workers, which may save and end by themselves; where it "
               "is a signal to handle, the second one ends the job. SIGUSR1 and SIGUSR2 are passed on anyway",
       .ours = true},
  };
}

std::vector<OptionRow> log_rows() {
  return {
      {.name = "--log-dir",
       .group = logs,
       .value = "FOLDER",
       .variables = {"PET_LOG_DIR"},
       .text = "where the folder of the job is made, for log and error files; a temporary one otherwise"},
      {.name = "--redirects",
       .short_name = "-r",
       .group = logs,
       .value = "WHAT",
       .variables = {"PET_REDIRECTS"},
       .initial = "0",
       .text =
           "streams of the workers that go to files: 0 (none), 1 (stdout), 2 (stderr), 3 (both), or a map from local "
           "ranks to these, as 0:3,1:1"},
      {.name = "--tee",
       .short_name = "-t",
       .group = logs,
       .value = "WHAT",
       .variables = {"PET_TEE"},
       .initial = "0",
       .text = "the same, and their lines are shown as well"},
      {.name = "--local-ranks-filter",
       .group = logs,
       .value = "LIST",
       .variables = {"PET_LOCAL_RANKS_FILTER"},
       .text = "local ranks that are shown, as 0,1; files are written for all"},
      {.name = "--log-line-prefix-template",
       .group = logs,
       .value = "TEXT",
       .variables = {"PET_LOG_LINE_PREFIX_TEMPLATE", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"},
       .initial = "[${role_name}${local_rank}]:",
       .text = "what stands before each line that --tee shows; ${rank}, ${local_rank}, ${role_name}, ${host}, "
               "${node_rank}, ${stream}, ${restart} and ${time} are replaced",
       .ours = true},  // torchrun 2.13 knows the second variable only
      {.name = "--duplicate-stdout-filters",
       .group = logs,
       .value = "TEXT,...",
       .variables = {"PET_DUPLICATE_STDOUT_FILTERS"},
       .text = "copy the shown lines that hold one of these texts to filtered_stdout.log; ,, is a comma"},
      {.name = "--duplicate-stderr-filters",
       .group = logs,
       .value = "TEXT,...",
       .variables = {"PET_DUPLICATE_STDERR_FILTERS"},
       .text = "the same for stderr and filtered_stderr.log"},
      {.name = "--fold",
       .group = logs,
       .takes = none,
       .text = "equal lines of several workers, shown by --tee, appear once, with all their ranks, as [default0-7]:",
       .ours = true},
      {.name = "--color",
       .group = logs,
       .value = "WHEN",
       .initial = "auto",
       .text = "a colour for each rank's prefix: auto, on a terminal and without NO_COLOR; always; never",
       .choices = {"auto", "always", "never"},
       .ours = true},
      {.name = "--log-writer",
       .group = logs,
       .value = "WHO",
       .initial = "auto",
       .text =
           "who writes the files of --redirects: workers, which then feel a full or stalled disk themselves; "
           "launch, which keeps it from them; auto, launch where the folder is on a network. Those of --tee: launch",
       .choices = {"auto", "workers", "launch"},
       .ours = true},
      {.name = "--log-max-size",
       .group = logs,
       .value = "SIZE",
       .text = "start a new log file between two lines when one has SIZE bytes, as 500K, 100M, 2G; stdout.log.1 is "
               "then the one before. launch writes the files",
       .ours = true},
      {.name = "--log-max-files",
       .group = logs,
       .value = "N",
       .text = "files that are kept of one stream with --log-max-size, the oldest goes first; 5 without this option",
       .ours = true},
      {.name = "--logs-specs",
       .group = logs,
       .value = "NAME",
       .text = "a Python plug-in of torchrun's; without effect"},
      {.name = "--event-log-handler",
       .group = logs,
       .value = "NAME",
       .variables = {"PET_EVENT_LOG_HANDLER"},
       .initial = "null",
       .text = "console: torchrun's own events as JSON lines on standard error; other names, Python plug-ins of "
               "torchrun's, are without effect",
       .choices = {"null", "console"}},
      {.name = "--events",
       .group = logs,
       .value = "FILE",
       .text = "append what happens to the job to FILE, a line of JSON each; - is standard output",
       .ours = true},
  };
}

std::vector<OptionRow> other_rows() {
  return {
      {.name = "--explain",
       .takes = optional,
       .value = "[=json]",
       .text =
           "start nothing: print each setting with its origin, the ranks, and each worker's command and environment",
       .choices = {"text", "json"},
       .ours = true},
      {.name = "--print-completion",
       .value = "SHELL",
       .text = "print a completion script for bash, zsh or tcsh",
       .choices = {"bash", "zsh", "tcsh"},
       .ours = true},
      {.name = "--help", .short_name = "-h", .takes = none, .text = "print this text"},
      {.name = "--version", .takes = none, .text = "print the version", .ours = true},
  };
}

}  // namespace

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = [] {
    std::vector<OptionRow> all;
    for (const auto& part : {node_rows(), rendezvous_rows(), worker_rows(), ending_rows(), log_rows(), other_rows()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

std::string_view heading(OptionGroup group) {
  switch (group) {
    case nodes:
      return "Job and nodes";
    case rendezvous:
      return "Rendezvous (how the nodes find each other)";
    case workers:
      return "Workers";
    case ending:
      return "Failures and the end";
    case logs:
      return "Logs";
    case other:
      return "Other";
  }
  return "";
}

std::string underscored(std::string_view name) {
  std::string result(name.substr(0, 2));
  result += name.substr(2);
  std::replace(result.begin() + 2, result.end(), '-', '_');
  return result;
}

}  // namespace launch
