"""What a worker is given: environment, arguments, descriptors, signal dispositions, its own session."""
import json
import os
import signal

from harness import free_port
from job import SLEEP, JobCase

DUMP = 'env -0 > "$TEST_FOLDER/env.$RANK"\n'


class Environment(JobCase):
    def variables(self, rank):
        entries = (self.folder / f"env.{rank}").read_bytes().decode().split("\0")
        return dict(entry.split("=", 1) for entry in entries if entry)

    def assert_variables(self, rank, expected):
        found = self.variables(rank)
        self.assertEqual(expected, {name: found.get(name) for name in expected}, f"rank {rank}")

    def test_table_of_unequal_nodes(self):
        runs = self.nodes([3, 1], self.worker(DUMP), options=["--rdzv-id=job7", "--role=trainer"])
        self.expect([0, 0], runs)
        for rank, (node, local, size) in enumerate([(0, 0, 3), (0, 1, 3), (0, 2, 3), (1, 0, 1)]):
            self.assert_variables(rank, {
                "RANK": str(rank), "LOCAL_RANK": str(local), "GROUP_RANK": str(node), "ROLE_RANK": str(rank),
                "ROLE_NAME": "trainer", "LOCAL_WORLD_SIZE": str(size), "WORLD_SIZE": "4", "GROUP_WORLD_SIZE": "2",
                "ROLE_WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RESTART_COUNT": "0",
                "TORCHELASTIC_MAX_RESTARTS": "0", "TORCHELASTIC_RUN_ID": "job7", "TORCHELASTIC_USE_AGENT_STORE": "True",
                "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
                "TORCHELASTIC_SIGNALS_TO_HANDLE": "SIGTERM,SIGINT,SIGHUP,SIGQUIT"})
        self.assertEqual(1, len({self.variables(rank)["MASTER_PORT"] for rank in range(4)}))
        self.assertEqual("1", self.variables(0).get("OMP_NUM_THREADS"), "3 workers a node")
        self.assertIsNone(self.variables(3).get("OMP_NUM_THREADS"), "1 worker a node")

    def test_roles_have_ranks_of_their_own(self):
        port = free_port()
        runs = [self.node(node, 3, 2, self.worker(DUMP), port=port, options=[f"--role={role}"])
                for node, role in enumerate(("a", "b", "a"))]
        self.expect([0] * 3, runs)
        expected = [("a", 0, 4), ("a", 1, 4), ("b", 0, 2), ("b", 1, 2), ("a", 2, 4), ("a", 3, 4)]
        for rank, (role, role_rank, size) in enumerate(expected):
            self.assert_variables(rank, {"ROLE_NAME": role, "ROLE_RANK": str(role_rank), "ROLE_WORLD_SIZE": str(size)})

    def test_error_file_has_a_folder_to_be_written_in(self):
        writing = 'echo {} > "$TORCHELASTIC_ERROR_FILE" || exit 9\n'
        self.expect([0], [self.launch("--nproc-per-node=2", self.worker(DUMP, writing))])
        files = {self.variables(rank)["TORCHELASTIC_ERROR_FILE"] for rank in range(2)}
        self.assertEqual(2, len(files))

    def test_a_failure_is_handed_up(self):
        """By torchrun's contract: our own TORCHELASTIC_ERROR_FILE gets the worker's error.json, with its exit code."""
        parent = self.folder / "parent.json"
        told = '{"message": {"message": "ValueError: no", "extraInfo": {"timestamp": "1"}}}'
        for name, writing in (("told", f"echo '{told}' > \"$TORCHELASTIC_ERROR_FILE\"\n"), ("silent", "")):
            with self.subTest(worker=name):
                run = self.launch("--nproc-per-node=2", self.worker(writing, '[ "$RANK" = 1 ] && exit 7\n', SLEEP),
                                  env={"TORCHELASTIC_ERROR_FILE": str(parent)})
                self.expect([7], [run])
                message = json.loads(parent.read_text())["message"]
                self.assertEqual(7, message["errorCode"])
                self.assertRegex(message["message"], "^ValueError: no$" if writing else "rank 1 .*exit code 7")
        self.assertEqual({}, message["extraInfo"])

    def test_users_own_values_stay(self):
        given = {"FOO": "a=b c", "OMP_NUM_THREADS": "5", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "EMPTY": "",
                 "CUDA_VISIBLE_DEVICES": "4,6"}
        self.expect([0], [self.launch("--nproc-per-node=2", self.worker(DUMP), env=given)])
        self.assert_variables(1, given)

    def test_stale_values_are_replaced(self):
        stale = {"RANK": "77", "WORLD_SIZE": "99", "MASTER_PORT": "1", "TORCHELASTIC_RESTART_COUNT": "5"}
        self.expect([0], [self.launch(self.worker(DUMP), env=stale)])
        found = self.variables(0)
        self.assertEqual(("0", "1", "0"), (found["RANK"], found["WORLD_SIZE"], found["TORCHELASTIC_RESTART_COUNT"]))
        self.assertNotEqual("1", found["MASTER_PORT"])

    def test_one_node_alone_meets_on_the_loopback(self):
        self.expect([0], [self.launch(self.worker(DUMP))])
        self.assertEqual("127.0.0.1", self.variables(0)["MASTER_ADDR"])

    def test_identical_workers_need_no_exchange_of_roles(self):
        runs = self.nodes([2, 2], self.worker(DUMP), env={"TORCH_ELASTIC_WORKER_IDENTICAL": "1"})
        self.expect([0, 0], runs)
        self.assert_variables(3, {"RANK": "3", "WORLD_SIZE": "4", "ROLE_RANK": "3", "ROLE_WORLD_SIZE": "4"})


class Process(JobCase):
    def output(self, worker, *arguments, **start):
        run = self.launch(worker, *arguments, **start)
        self.expect([0], [run])
        return run.out

    def test_arguments_are_passed_on_verbatim(self):
        words = ["a b", "", "x=y", "--nnodes", "5", "-h", "--standalone", "*", "--", "--d", "$HOME", "ü\n"]
        out = self.output(self.worker('printf "%s\\0" "$@"\n'), *words)
        self.assertEqual(words, out.split("\0")[:-1])

    def test_macros(self):
        words = ["${local_rank}", "r$local_rank.log", "$$A", "$B", "${C}", "$", "a$"]
        run = self.launch("--nproc-per-node=2", self.worker('[ "$RANK" = 1 ] && printf "%s\\0" "$@"; exit 0\n'), *words)
        self.expect([0], [run])
        self.assertEqual(["1", "r1.log", "$A", "$B", "${C}", "$", "a$"], run.out.split("\0")[:-1])

    def test_own_session(self):
        out = self.output(self.worker('ps -o pid=,pgid=,sid= -p $$\n'))
        self.assertEqual(1, len(set(out.split())), out)

    def test_working_folder(self):
        (self.folder / "place").mkdir()
        out = self.output(self.worker("pwd -P\n"), cwd=self.folder / "place")
        self.assertEqual(os.path.realpath(self.folder / "place"), out.strip())

    def test_standard_input_is_inherited(self):
        (self.folder / "text").write_text("from outside\n")
        with open(self.folder / "text", encoding="ascii") as text:
            self.assertEqual("from outside\n", self.output(self.worker("cat\n"), stdin=text))

    def test_no_other_descriptor_is_open(self):
        with open("/dev/null", encoding="ascii") as extra:
            out = self.output("--no-python", "ls", "/proc/self/fd", pass_fds=[extra.fileno()])
        self.assertEqual(["0", "1", "2", "3"], out.split(), "3 is the folder that ls reads")

    def dispositions(self, *ignored):
        """Which signals a worker has blocked and ignored, as numbers, when launch was started with these ignored."""
        def odd():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])
        script = "s/^Sig\\(Blk\\|Ign\\):\\t//p"
        out = self.output("--no-python", "sed", "-n", script, "/proc/self/status", preexec_fn=odd,
                          restore_signals=False)
        return [{bit + 1 for bit in range(64) if int(mask, 16) >> bit & 1} for mask in out.split()]

    def test_no_signal_is_blocked_or_ignored(self):
        self.assertEqual([set(), set()], self.dispositions(signal.SIGPIPE, signal.SIGUSR1, signal.SIGINT))

    def test_hangup_stays_ignored_under_nohup(self):
        self.assertEqual([set(), {signal.SIGHUP}], self.dispositions(signal.SIGHUP))

    def test_both_streams_are_inherited(self):
        run = self.launch(self.worker("echo to-out\necho to-err >&2\n"))
        self.expect([0], [run])
        self.assertEqual("to-out\n", run.out)
        self.assertIn("to-err\n", run.err)
