"""A Slurm step, as its variables say: the start by Slurm itself is in tests/clusters."""
from harness import Settings, free_port
from job import JobCase

SAYS_ALL = 'echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, run $TORCHELASTIC_RUN_ID"\n'


class SlurmStep(JobCase):
    def task(self, rank, *words, nodes=2, task_pid="$$", **variables):
        """launch as the task of a step of this many nodes, all of which are this machine."""
        names = ",".join(["localhost"] * nodes)
        step = {"SLURM_CLUSTER_NAME": self.marker, "SLURM_JOB_ID": 3, "SLURM_STEP_ID": 0, "SLURM_NODEID": rank,
                "SLURM_PROCID": rank, "SLURM_LOCALID": 0, "SLURM_NNODES": nodes, "SLURM_NTASKS": nodes,
                "SLURM_TASKS_PER_NODE": f"1(x{nodes})", "SLURM_STEP_NUM_NODES": nodes, "SLURM_STEP_NUM_TASKS": nodes,
                "SLURM_STEP_TASKS_PER_NODE": f"1(x{nodes})", "SLURM_STEP_NODELIST": names,
                "SLURM_STEP_RESV_PORTS": self.port, **variables}
        shell = f'SLURM_TASK_PID={task_pid} exec "$0" "$@"'
        return self.start(["sh", "-c", shell, Settings.launch, *words],
                          env={name: str(value) for name, value in step.items() if value is not None})

    def setUp(self):
        super().setUp()
        self.port = free_port()

    def test_a_job_without_a_flag(self):
        runs = [self.task(rank, self.worker(SAYS_ALL)) for rank in (0, 1)]
        self.expect([0, 0], runs, seconds=20)
        for rank, run in enumerate(runs):
            self.assertEqual(f"rank {rank} of 2, node {rank}, run 3.0\n", run.out)
            self.assert_says(run, rf"^launch: Slurm step 3\.0: 2 nodes, this is node {rank} \(localhost\), node 0 is")

    def test_c10d(self):
        runs = [self.task(rank, "--rdzv-backend=c10d", self.worker(SAYS_ALL), SLURM_RESTART_COUNT=2)
                for rank in (0, 1)]
        self.expect([0, 0], runs, seconds=20)
        self.assertEqual({"run 3.0.r2\n"}, {run.out.partition(", ")[2].partition(", ")[2] for run in runs})

    def test_explain_says_where_values_come_from(self):
        run = self.task(1, "--explain", self.worker(SAYS_ALL))
        self.expect([0], [run])
        for line in (r"--nnodes +2  \(SLURM_STEP_NUM_NODES\)", r"--node-rank +1  \(SLURM_NODEID\)",
                     r"--master-addr +localhost  \(SLURM_STEP_NODELIST\)",
                     rf"--master-port +{self.port}  \(SLURM_STEP_RESV_PORTS\)",
                     r"--rdzv-id +3\.0  \(the number of the Slurm step\)",
                     r"Found: Slurm step 3\.0: 2 nodes, this is node 1"):
            self.assertRegex(run.out, line)

    def test_what_contradicts_is_refused(self):
        for words, variables, says in (
                (["--nnodes=3"], {}, r"--nnodes 3, but the Slurm step has 2 nodes \(SLURM_STEP_NUM_NODES\)"),
                (["--node-rank=0"], {}, "--node-rank 0, but SLURM_NODEID says that this is node 1"),
                ([], {"SLURM_STEP_NODELIST": "n[1-"}, r"SLURM_STEP_NODELIST=n\[1-"),
                ([], {"SLURM_NODEID": None}, "SLURM_NODEID is not set"),
                (["--cluster=slurm"], {"task_pid": 1 << 30}, "--cluster slurm: no Slurm step started this launch; the"),
                (["--cluster=pbs"], {}, "--cluster pbs: expected auto, slurm, none")):
            with self.subTest(words=words, variables=variables):
                run = self.task(1, *words, self.worker(SAYS_ALL), **variables)
                self.expect([2], [run])
                self.assert_says(run, says)
                self.assertEqual("", run.out)

    def test_other_starts_are_one_node(self):
        """Nobody is waited for."""
        for words, variables, says in (
                ([], {"task_pid": 1 << 30}, "^$"),  # left over, as in tmux
                (["--cluster=none"], {}, "^$"),
                (["--nnodes=1"], {}, "Slurm step 3.0 has 2 nodes, and each of them runs a job of its own"),
                ([], {"SLURM_STEP_TASKS_PER_NODE": "8(x2)", "SLURM_TASKS_PER_NODE": "8(x2)"},
                 "Slurm step 3.0 has 8 tasks on one node"),
                ([], {"SLURM_STEP_ID": None, "SLURM_JOB_NUM_NODES": 4}, "Slurm job 3 has 4 nodes, and this launch")):
            with self.subTest(words=words, variables=variables):
                run = self.task(1, *words, self.worker(SAYS_ALL), **variables)
                self.expect([0], [run], seconds=10)
                self.assertRegex(run.out, "^rank 0 of 1, node 0, ")
                self.assert_says(run, says)
