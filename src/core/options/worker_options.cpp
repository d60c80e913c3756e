#include "launch/core/options/worker_options.hpp"

namespace launch {
namespace {

constexpr OptionRow worker_rows[] = {
    {.name = "--module",
     .short_name = "-m",
     .member = &Options::module,
     .group = OptionGroup::workers,
     .takes = OptionValue::none,
     .variables = {"PET_MODULE"},
     .text = "PROGRAM is the name of a Python module",
     .brief = "PROGRAM is a Python module"},
    {.name = "--no-python",
     .member = &Options::no_python,
     .group = OptionGroup::workers,
     .takes = OptionValue::none,
     .variables = {"PET_NO_PYTHON"},
     .text = "execute PROGRAM as it is; not needed for programs that are not Python scripts"},
    {.name = "--run-path",
     .member = &Options::run_path,
     .group = OptionGroup::workers,
     .takes = OptionValue::none,
     .variables = {"PET_RUN_PATH"},
     .text = "run the Python file PROGRAM by runpy.run_path; wins over -m and --no-python"},
    {.name = "--role",
     .member = &Options::role,
     .group = OptionGroup::workers,
     .value = "NAME",
     .variables = {"PET_ROLE"},
     .initial = "default",
     .empty = EmptyText::value,
     .text = "role of the workers of this node; ranks are also counted within a role"},
    {.name = "--virtual-local-rank",
     .member = &Options::virtual_local_rank,
     .group = OptionGroup::workers,
     .takes = OptionValue::none,
     .variables = {"PET_VIRTUAL_LOCAL_RANK"},
     .text = "each worker sees one GPU, by CUDA_VISIBLE_DEVICES, and has LOCAL_RANK 0"},
    {.name = "--numa-binding",
     .member = &Options::numa_binding,
     .group = OptionGroup::workers,
     .value = "MODE",
     .text = "bind each worker to the CPUs and memory near its device: node, socket, exclusive (cores of its own) or "
             "core-complex (cores that share a cache)",
     .choices = {"node", "socket", "exclusive", "core-complex"},
     .closed = Closed::for_flags},
    {.name = "--omp-threads",
     .member = &Options::omp_threads,
     .group = OptionGroup::workers,
     .value = "N|auto",
     .text = "OMP_NUM_THREADS of each worker; auto divides the usable cores among them. Without it: what is set, or "
             "else 1 if there are several workers",
     .choices = {"auto"},
     .ours = true},
    {.name = "--stdin",
     .member = &Options::stdin_rank,
     .group = OptionGroup::workers,
     .value = "RANK|all|none",
     .text = "who reads launch's standard input: the worker of this rank, all (each a copy of its own), or none. "
             "Without it, all share it, as with torchrun, and each byte goes to the worker that reads first",
     .choices = {"all", "none"},
     .ours = true},
    {.name = "--start-method",
     .member = &Options::start_method,
     .group = OptionGroup::workers,
     .value = "NAME",
     .variables = {"PET_START_METHOD"},
     .initial = "spawn",
     .text = "has no effect: every worker is a process of its own",
     .choices = {"spawn", "fork", "forkserver"},
     .closed = Closed::for_flags},
};

}  // namespace

std::span<const OptionRow> worker_options() { return worker_rows; }

}  // namespace launch
