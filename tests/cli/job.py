"""Jobs of shell-script workers: one launch a node, all on this machine."""
import socket

import processes
from harness import Case, free_port, wait_for

# Parts of worker scripts.
SHELL = "#!/bin/sh\n"
UP = ': > "$TEST_FOLDER/up.$RANK"\n'
UNTIL_ALL_UP = 'while [ "$(ls "$TEST_FOLDER" | grep -c "^up\\.")" -lt "$WORLD_SIZE" ]; do sleep 0.02; done\n'
NOTE_TIME = 'date +%s.%N > "$TEST_FOLDER/failed_at"\n'
SLEEP = "exec sleep 300\n"


class JobCase(Case):
    def nodes(self, sizes, *command, options=(), port=None, **start):
        """One launch a node, `sizes` workers each; they meet on a free port. The runs in order of node rank."""
        port = port or free_port()
        return [self.node(rank, len(sizes), size, *command, options=options, port=port, **start)
                for rank, size in enumerate(sizes)]

    def node(self, rank, count, size, *command, options=(), port, **start):
        return self.launch(f"--nnodes={count}", f"--nproc_per_node={size}", f"--node_rank={rank}",
                           "--master_addr=127.0.0.1", f"--master_port={port}", *options, *command, **start)

    def elastic(self, count, *command, nnodes=None, options=(), port=None, nproc=1, run_id="job"):
        """A c10d job of `count` launches that are started alike."""
        port = port or free_port()
        return [self.launch(f"--nnodes={nnodes or count}", f"--nproc-per-node={nproc}", "--rdzv-backend=c10d",
                            f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-id={run_id}", *options, *command)
                for _ in range(count)]

    def port_of_an_ended_connection(self):
        """The side that closes first keeps its port for a minute."""
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
            client.bind(("127.0.0.1", 0))
            client.connect(server.getsockname())
            port = client.getsockname()[1]
            accepted, _ = server.accept()
            client.close()
            accepted.close()
            return port

    def agent_of(self, run):
        """The process that does the work; the one that was started guards it."""
        (agent,) = processes.children_of(run.pid)
        return agent

    def output_of(self, *words):
        """What launch prints for this line, which must succeed."""
        run = self.launch(*words)
        self.expect([0], [run])
        return run.out

    def worker(self, *parts, name="worker"):
        return self.program(SHELL + "".join(parts), name)

    def up(self):
        """Global ranks of the workers that have said so."""
        return sorted(int(path.name[3:]) for path in self.folder.glob("up.*"))

    def forget(self, *patterns):
        """What workers of the last turn have left: that they were up, and files of these names."""
        for pattern in ("up.*", *patterns):
            for path in self.folder.glob(pattern):
                path.unlink()

    def wait_until_up(self, count, *runs):
        if not wait_for(lambda: len(self.up()) == count, 20):
            self.fail(f"only ranks {self.up()} of {count} started\n" + "\n".join(str(run) for run in runs))

    def time_of_failure(self):
        return float((self.folder / "failed_at").read_text())

    def assert_says(self, run, *patterns):
        for pattern in patterns:
            self.assertRegex(run.err, pattern, f"\n{run}")
