"""A wrong command line: one clear line that names the flag or variable, exit code 2, and nothing started."""
import glob

import wording
from job import JobCase

W = "./worker"

# What to type, what must be named.
COMMAND_LINES = [
    ([], r"script|program"),
    (["--nproc-per-node", "2"], r"script|program"),
    (["--bogus", W], "--bogus"),
    (["--nproc-per-nide=2", W], "--nproc-per-nide.*--nproc-per-node"),
    (["--nnodes", "0", W], "--nnodes"),
    (["--nnodes", "3:2", W], "--nnodes"),
    (["--nnodes", "1:2:3", W], "--nnodes"),
    (["--nnodes", "x", W], "--nnodes"),
    (["--nnodes", "99999999999999999999", W], "--nnodes"),
    (["--nproc-per-node", "0", W], "--nproc-per-node"),
    (["--nproc-per-node", "-1", W], "--nproc-per-node"),
    (["--nproc_per_node=foo", W], "--nproc[-_]per[-_]node"),
    (["--nnodes=2", "--node-rank=2", "--master-port=29999", W], "--node-rank"),
    (["--nnodes=2", "--node_rank=-1", "--master-port=29999", W], "--node[-_]rank"),
    (["--node-rank=x", W], "--node-rank"),
    (["--master-port", "99999", W], "--master-port"),
    (["--master-port", "-1", W], "--master-port"),
    (["--master-port", "x", W], "--master-port"),
    (["--rdzv-endpoint", "localhost:99999", W], "--rdzv-endpoint"),
    (["--rdzv-endpoint", "a b:1", W], "--rdzv-endpoint"),
    (["--rdzv-conf", "a=", W], "--rdzv-conf"),
    (["--rdzv-conf", "a", W], "--rdzv-conf"),
    (["--rdzv-conf", "=1", W], "--rdzv-conf"),
    (["--rdzv-conf", "x=1,", W], "--rdzv-conf"),
    (["--rdzv-conf", "timeout=soon", W], "--rdzv-conf"),
    (["--rdzv-backend", "zz", W], "--rdzv-backend"),
    (["--rdzv-backend=c10d", "--nnodes=2", "--rdzv-conf=join_timeout=0", W], "--rdzv-conf.*join_timeout"),
    (["--rdzv-conf=endpoint=a", W], "--rdzv-conf"),
    (["--rdzv-endpoint", "localhost", W], "--rdzv-endpoint.*port"),
    (["--local-addr", "a b", W], "--local-addr"),
    (["--standalone", "--nnodes=2", W], "--standalone.*--nnodes"),
    (["--max-restarts", "-1", W], "--max-restarts"),
    (["--max-restarts=x", W], "--max-restarts"),
    (["--signals-to-handle=SIGFOO", W], "--signals-to-handle.*SIGFOO"),
    (["--signals-to-handle=SIGKILL", W], "--signals-to-handle.*SIGKILL"),
    (["-r", "4", W], "--redirects"),
    (["--tee=0:4", W], "--tee"),
    (["--local-ranks-filter=a", W], "--local-ranks-filter"),
    (["--numa-binding=x", W], "--numa-binding.*core-complex"),
    (["--omp-threads=0", W], "--omp-threads.*auto"),
    (["--stdin=x", W], "--stdin x.*all or none"),
    (["--stdin=-1", W], "--stdin -1.*all or none"),
    (["--nproc-per-node=2", "--stdin=2", W], "--stdin 2.*0 to 1"),
    (["--stdin=", W], "--stdin"),
    (["--start-method=x", W], "--start-method.*forkserver"),
    (["--explain=xml", W], "--explain.*json"),
    (["--print-completion=ksh"], "--print-completion.*bash"),
    (["--log=x", W], "--log.*--log-dir or --logs-specs"),
    (["--use-env", W], "--use-env"),
    (["--log-dir=worker", W], "--log-dir worker.*folder"),
    (["--no-python", "worker"], r"worker is not on PATH.*\./worker"),
    (["--rdzv-backend=c10d", "--rdzv-conf=read_timeout=0", W], "--rdzv-conf.*read_timeout"),
    (["--nproc-per-node=xpu", W], "--nproc-per-node.*XPU"),
    (["--nproc-per-node=npu", W], "--nproc-per-node.*NPU"),
    (["--monitor-interval", "x", W], "--monitor-interval"),
    (["--shutdown-timeout", "-1", W], "--shutdown-timeout"),
    (["--no-python", "-m", W], "--no-python|--module"),
    (["--nnodes=", W], "--nnodes"),
    (["--nproc-per-node=", W], "--nproc-per-node"),
    (["--node-rank=", W], "--node-rank"),
    (["--master-addr=", "--nnodes=2", W], "--master-addr"),
    (["--event-log-handler=", W], "--event-log-handler"),
    (["--redirects=", W], "--redirects"),
    (["--signals-to-handle=", W], "--signals-to-handle"),
    (["--master-port=", W], "--master-port"),
    (["--monitor-interval=", W], "--monitor-interval"),
    (["--shutdown-timeout=", W], "--shutdown-timeout"),
    (["--nnodes"], "--nnodes"),
    ([""], r"script|program|empty"),
]

VARIABLES = [
    ({"PET_NNODES": "x"}, "PET_NNODES"),
    ({"PET_NNODES": ""}, "PET_NNODES"),
    ({"PET_NPROC_PER_NODE": "foo"}, "PET_NPROC_PER_NODE"),
    ({"PET_NODE_RANK": "x"}, "PET_NODE_RANK"),
    ({"PET_MASTER_PORT": "99999"}, "PET_MASTER_PORT"),
    ({"PET_RDZV_CONF": "a="}, "PET_RDZV_CONF"),
    ({"PET_STANDALONE": "maybe"}, "PET_STANDALONE"),
    ({"PET_SHUTDOWN_TIMEOUT": "x"}, "PET_SHUTDOWN_TIMEOUT"),
    ({"PET_STANDALONE": ""}, "PET_STANDALONE.*empty"),
    ({"PET_MAX_RESTARTS": "x"}, "PET_MAX_RESTARTS"),
    ({"PET_TEE": "7"}, "PET_TEE"),
    ({"PET_RUN_PATH": "x"}, "PET_RUN_PATH"),
    ({"PET_SIGNALS_TO_HANDLE": "INT,FOO"}, "PET_SIGNALS_TO_HANDLE.*FOO"),
    ({"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "-1"}, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"),
    ({"CUDA_VISIBLE_DEVICES": "0", "PET_VIRTUAL_LOCAL_RANK": "1", "PET_NPROC_PER_NODE": "2"},
     "PET_VIRTUAL_LOCAL_RANK.*CUDA_VISIBLE_DEVICES"),
]


class BadInput(JobCase):
    def assert_refused(self, arguments, env, named):
        self.worker(': > "$TEST_FOLDER/started"\n')
        (self.folder / "started").unlink(missing_ok=True)
        run = self.launch(*arguments, env=env, cwd=self.folder)
        self.expect([2], [run], seconds=10)
        self.assertEqual((1, 1), (len(run.err.splitlines()), len(wording.own_lines(run.err))), str(run))
        self.assertRegex(run.err, named, str(run))
        self.assertEqual("", run.out)
        self.assertFalse((self.folder / "started").exists(), "a worker was started")

    def test_command_line(self):
        for arguments, named in COMMAND_LINES:
            with self.subTest(arguments=arguments):
                self.assert_refused(arguments, None, named)

    def test_variables(self):
        for env, named in VARIABLES:
            with self.subTest(env=env):
                self.assert_refused([W], env, named)

    def test_gpu_without_one(self):
        if glob.glob("/dev/nvidia[0-9]*") or glob.glob("/dev/kfd"):
            self.skipTest("this machine has GPUs")
        self.assert_refused(["--nproc-per-node=gpu", W], None, "--nproc-per-node.*(?i:gpu)")
