#include "launch/core/help.hpp"

namespace launch {

std::string version_text() { return "launch " LAUNCH_VERSION "\n"; }

std::string help_text() {
  return R"(Usage: launch [OPTION...] PROGRAM [ARGUMENT...]
       launch [OPTION...] -m MODULE [ARGUMENT...]

Starts the workers of a distributed training job on this node, as torchrun does, and ends with
their exit code. Run it once on every node of the job.

PROGRAM is a Python file, a shell script or a compiled program. The first word that is no option
is PROGRAM; everything after it goes to the workers untouched.

Job and nodes:
  --nnodes N|MIN:MAX        nodes of the job; MAX are waited for [1]           PET_NNODES
  --nproc-per-node COUNT    workers on this node: a number, cpu, [1]           PET_NPROC_PER_NODE
                            gpu or auto (GPUs if any, else CPUs)
  --node-rank K             which node this is, counted from 0   [0]           PET_NODE_RANK
  --master-addr HOST        where node 0 is                      [127.0.0.1]   PET_MASTER_ADDR
  --master-port PORT        what node 0 listens on; one node     [29500]       PET_MASTER_PORT
                            without this option takes a free
                            port
  --standalone              one node, 127.0.0.1, a free port; no [off]         PET_STANDALONE
                            address, port or id given counts

Rendezvous (how the nodes find each other):
  --rdzv-backend static     the only one that this version knows [static]      PET_RDZV_BACKEND
  --rdzv-endpoint HOST:PORT in place of --master-addr and                      PET_RDZV_ENDPOINT
                            --master-port
  --rdzv-id ID              name of the job, equal on all nodes; [none]        PET_RDZV_ID
                            one node without it makes a new one
  --rdzv-conf KEY=VALUE,... timeout=SECONDS bounds the wait for  [timeout=900] PET_RDZV_CONF
                            all nodes; other keys are ignored

Workers:
  --role NAME               what kind of worker this node runs   [default]     PET_ROLE
  -m, --module              PROGRAM is the name of a module      [off]         PET_MODULE
  --no-python               execute PROGRAM as it is             [off]         PET_NO_PYTHON
  --shutdown-timeout S      seconds that workers have to end     [30]          PET_SHUTDOWN_TIMEOUT
                            before SIGKILL; 0 kills at once
  --monitor-interval S      without effect: exits are told by    [0.1]         PET_MONITOR_INTERVAL
                            the kernel, nothing is polled

Other:
  -h, --help                print this text
  --version                 print the version

Each line shows the default in brackets and the variable that gives the value when the option is
not on the command line; yes, no, true, false and numbers switch options without a value.
Write --option=VALUE or --option VALUE, and --node_rank as well as --node-rank; the last of
repeated options counts.

Examples:
  One node, a worker for each GPU:
    launch --nproc-per-node=gpu train.py --epochs 3
  Two nodes with two workers each: this line on both, K is 0 on HOST and 1 on the other:
    launch --nnodes=2 --nproc-per-node=2 --node-rank=K --master-addr=HOST --master-port=29500 \
      train.py
  A compiled program:
    launch --nproc-per-node=4 ./train
)";
}

}  // namespace launch
