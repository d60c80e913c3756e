"""A Slurm step, as its variables say: the start by Slurm itself is in tests/clusters."""
import os
import socket

from harness import Settings, free_port
from job import JobCase

SAYS_ALL = 'echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, run $TORCHELASTIC_RUN_ID"\n'


class OtherStarters(JobCase):
    """A line for each kind; their variables and what follows from them are in tests/core/cluster."""

    def start_with(self, variables, *words):
        return self.start([Settings.launch, *words, self.worker(SAYS_ALL)], env=variables)

    def test_open_mpi(self):
        port = free_port()
        runs = [self.start_with({"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2",
                                 "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
                                 "PMIX_NAMESPACE": self.marker, "PET_MASTER_ADDR": "localhost"},
                                f"--master-port={port}", "--nnodes=2", "--cluster=openmpi") for rank in range(2)]
        self.expect([0, 0], runs, seconds=20)
        self.assertEqual([f"rank {rank} of 2, node {rank}, run {self.marker}\n" for rank in range(2)],
                         [run.out for run in runs])

    def test_a_platform(self):
        runs = [self.start_with({"SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_RANK": str(rank),
                                 "SKYPILOT_NODE_IPS": "127.0.0.1\n127.0.0.1", "SKYPILOT_TASK_ID": self.marker},
                                f"--master-port={port}") for port in [free_port()] for rank in range(2)]
        self.expect([0, 0], runs, seconds=20)
        self.assertEqual([f"rank {rank} of 2, node {rank}, run {self.marker}\n" for rank in range(2)],
                         [run.out for run in runs])
        self.assert_says(runs[1], f"^launch: SkyPilot {self.marker}: 2 nodes, this is node 1, node 0 is 127.0.0.1")

    def test_mpi_that_does_not_say_where_rank_0_is(self):
        run = self.start_with({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
                               "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"})
        self.expect([2], [run])
        self.assert_says(run, "Open MPI has 2 nodes, but does not say where node 0 is: give --master-addr with the ")


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

    def test_a_port_that_others_have(self):
        """Two jobs are given the same port by their steps, and a third program has it already."""
        with socket.socket() as other:
            other.bind(("", self.port))
            other.listen()
            runs = [self.task(rank, self.worker(SAYS_ALL), SLURM_JOB_ID=job) for job in (4, 5) for rank in (1, 0)]
            self.expect([0] * 4, runs, seconds=30)
        self.assertEqual(sorted(f"rank {rank} of 2, node {rank}, run {job}.0\n" for job in (4, 5) for rank in (0, 1)),
                         sorted(run.out for run in runs))

    def test_c10d(self):
        runs = [self.task(rank, "--rdzv-backend=c10d", self.worker(SAYS_ALL), SLURM_RESTART_COUNT=2)
                for rank in (0, 1)]
        self.expect([0, 0], runs, seconds=20)
        self.assertEqual({"run 3.0.r2\n"}, {run.out.partition(", ")[2].partition(", ")[2] for run in runs})

    def test_several_tasks_on_a_node(self):
        """Two launches on each of two nodes, as "srun --ntasks-per-node=2 launch" starts them."""
        says = ('echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, node $GROUP_RANK of '
                '$GROUP_WORLD_SIZE, argument $1"\n')
        several = {"SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_STEP_NUM_TASKS": 4,
                   "SLURM_NTASKS": 4}
        runs = [self.task(task // 2, self.worker(says), "${local_rank}", SLURM_PROCID=task, SLURM_LOCALID=task % 2,
                          **several) for task in range(4)]
        self.expect([0] * 4, runs, seconds=20)
        self.assertEqual([f"{task} of 4, {task % 2} of 2, node {task // 2} of 2, argument {task % 2}\n"
                          for task in range(4)], [run.out for run in runs])
        self.assert_says(runs[3], r"^launch: Slurm step 3\.0: 4 tasks on 2 nodes, each with one worker; this is rank")

    def test_one_console_for_all_nodes(self):
        """The whole report is shown once by node 0 and once by the node of the failure; the others say one line."""
        fails = self.worker('[ "$RANK" = 2 ] && exit 3\n', "sleep 300\n")
        runs = [self.task(rank, "--tee=3", f"--log-dir={self.folder}", fails, nodes=4) for rank in range(4)]
        self.expect([3] * 4, runs, seconds=30)
        for rank in (0, 2):
            self.assert_says(runs[rank], r"FAILED \(run id 3\.0\)")
        for rank in (1, 3):
            self.assertNotIn("FAILED", runs[rank].err)
            self.assert_says(runs[rank], r"launch: error: rank 2 .*on node 2 .*exit code 3.*; node 0 has the whole ")

    def test_a_task_that_sees_one_device_has_local_rank_0(self):
        several = {"SLURM_STEP_TASKS_PER_NODE": 2, "SLURM_TASKS_PER_NODE": 2, "SLURM_STEP_NUM_TASKS": 2,
                   "SLURM_NTASKS": 2}
        runs = [self.task(0, self.worker('echo "$RANK $LOCAL_RANK of $LOCAL_WORLD_SIZE"\n'), nodes=1,
                          SLURM_PROCID=task, SLURM_LOCALID=task, CUDA_VISIBLE_DEVICES=task, **several)
                for task in range(2)]
        self.expect([0, 0], runs, seconds=20)
        self.assertEqual(["0 0 of 2\n", "1 0 of 2\n"], [run.out for run in runs])

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
                (["--cluster=slurm"], {"task_pid": 1 << 30}, "--cluster slurm: no such start of this launch was found"),
                (["--cluster=pbs"], {}, "--cluster pbs: expected auto, none, slurm, ")):
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
                (["--rdzv-backend=c10d"], {"SLURM_STEP_TASKS_PER_NODE": "8(x2)", "SLURM_TASKS_PER_NODE": "8(x2)",
                                           "SLURM_STEP_NUM_TASKS": 16, "SLURM_NTASKS": 16},
                 "Slurm step 3.0 has 16 tasks on 2 nodes, and 8 on one node"),
                ([], {"SLURM_STEP_ID": None, "SLURM_JOB_NUM_NODES": 4}, "Slurm job 3 has 4 nodes, and this launch")):
            with self.subTest(words=words, variables=variables):
                run = self.task(1, *words, self.worker(SAYS_ALL), **variables)
                self.expect([0], [run], seconds=10)
                self.assertRegex(run.out, "^rank 0 of 1, node 0, ")
                self.assert_says(run, says)


class BatchSystems(JobCase):
    """A file that a batch system's variable names."""

    def warned(self, file, *words):
        run = self.launch(*words, self.worker(SAYS_ALL), env={"PBS_JOBID": "12.pbs", "PBS_NODEFILE": str(file)})
        self.expect([0], [run], seconds=20)
        self.assertIn("rank 0 of 1, node 0", run.out)
        return "has 2 nodes, and this launch uses one of them" in run.err

    def test_the_nodes_of_a_job_are_said(self):
        file = self.folder / "nodes"
        file.write_text("n1\nn1\nn2\nn2\n")
        self.assertTrue(self.warned(file))
        self.assertFalse(self.warned(file, "--nnodes=1"), "that is what the user has said")
        self.assertFalse(self.warned(file, "--cluster=none"))

    def test_what_is_no_list_is_passed_over(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        huge = self.folder / "huge"
        huge.write_bytes(b"")
        os.truncate(huge, 1 << 40)
        for file in (pipe, huge, self.folder, self.folder / "missing", "/dev/zero"):
            self.assertFalse(self.warned(file), file)

    def test_the_file_of_pals_may_be_nonsense(self):
        file = self.folder / "apinfo"
        file.write_bytes(b"x" * 1000)
        run = self.launch(self.worker(SAYS_ALL), env={"PALS_APID": "1", "PALS_RANKID": "0", "PALS_NODEID": "0",
                                                      "PALS_APINFO": str(file)})
        self.expect([2], [run])
        self.assert_says(run, "PALS_APINFO=.*apinfo: the file has the unknown version")
