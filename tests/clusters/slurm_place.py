"""A real Slurm of several nodes on this machine: each has a name, a network and a /etc/hosts of its own.

The daemons stay in the foreground, so that their end is seen, and all that they write is in the test's folder. Needs
root, iproute2, and Debian's packages slurmctld, slurmd, slurm-client and munge.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import hosts
import processes
from running import wait_for

# A reader's program: it says its rank in one write, since several write to one pipe.
TRAIN = f"""#!{sys.executable}
import os
os.write(1, b"%s of %s\\n" % (os.environb[b"RANK"], os.environb[b"WORLD_SIZE"]))
"""
PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "salloc", "sinfo", "scancel", "munged", "nsenter", "unshare")

CONF = """ClusterName=tiny
SlurmctldHost=login({login})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-{count}] CPUs=8 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What a machine lacks for this; empty: nothing."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    lacks = [program for program in PROGRAMS if not shutil.which(program, path=path)]
    return ", ".join(lacks) if lacks else "" if hosts.possible() else "network namespaces (root, iproute2)"


class SlurmPlace:
    """Nodes n1, n2, …, and one more host, login, from which jobs are started. Use as a context manager."""

    def __init__(self, folder, count=4, env=None):
        self.env = env or {}  # of all that runs in it
        self.folder = pathlib.Path(folder) / "slurm"
        self.count = count
        self.place = hosts.Hosts(count + 1)
        self.daemons = []

    def __enter__(self):
        self.place.__enter__()
        try:
            self._begin()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def _begin(self):
        for folder in ("munge", "state"):
            (self.folder / folder).mkdir(parents=True)
        os.chmod(self.folder.parent, 0o755)
        names = [*(f"n{number}" for number in range(1, self.count + 1)), "login"]
        lines = [f"{hosts.address(number)} {name}" for number, name in enumerate(names, 1)]
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "\n".join(lines) + "\n")
        (self.folder / "nsswitch").write_text("passwd: files\ngroup: files\nhosts: files\n")
        login = hosts.address(self.count + 1)
        (self.folder / "slurm.conf").write_text(CONF.format(folder=self.folder, count=self.count, login=login))
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        munge = key.parent
        self._daemon(None, "munged", "--foreground", "--force", f"--socket={munge}/socket", f"--key-file={key}",
                     f"--pid-file={munge}/pid", f"--seed-file={munge}/seed", f"--log-file={munge}/log")
        wait_for((self.folder / "munge" / "socket").exists, 10)
        self._daemon(self.count + 1, "slurmctld", "-D", "-f", self.folder / "slurm.conf")
        for number in range(1, self.count + 1):
            self._daemon(number, "slurmd", "-D", "-f", self.folder / "slurm.conf", "-N", f"n{number}")
        wait_for(lambda: self.count == self.ask("sinfo", "-h", "-N", "-o", "%T").split().count("idle"), 30)

    def _daemon(self, number, *command):
        line = [str(word) for word in (self.inside(number, *command) if number else command)]
        with open(self.folder / f"{command[0]}.{number}.out", "wb") as out:
            self.daemons.append(subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                                 env=self.environment()))

    def __exit__(self, *_):
        if self.ask("squeue", "-h").strip():
            self.ask("scancel", "--full", "-u", "root")
            wait_for(lambda: not self.ask("squeue", "-h").strip(), 20)
        for daemon in reversed(self.daemons):
            wait_for(lambda daemon=daemon: self._end(daemon), 10)
        self.place.__exit__()

    def _end(self, daemon):
        """A daemon's children, such as the steps, end with it."""
        if daemon.poll() is None:
            processes.kill([*processes.descendants_of(daemon.pid), daemon.pid])
        return daemon.poll() is not None

    def environment(self):
        return {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "SLURM_CONF": str(self.folder / "slurm.conf"),
                "HOME": "/root", "LC_ALL": "C.UTF-8", **self.env}

    def inside(self, number, *command):
        """The command line that runs `command` on host `number`, which knows its name and those of the others."""
        name = f"n{number}" if number <= self.count else "login"
        # What tests/place has put there is on deleted files, which nothing can be put on.
        script = (f'umount /etc/hosts /etc/nsswitch.conf 2>&-; mount --bind {self.folder}/hosts /etc/hosts && '
                  f'mount --bind {self.folder}/nsswitch /etc/nsswitch.conf && hostname {name} && exec "$0" "$@"')
        network = f"--net=/run/netns/{self.place.names[number - 1]}"
        return ["nsenter", network, "unshare", "--uts", "--mount", "sh", "-c", script, *command]

    def on_login(self, *command):
        return self.inside(self.count + 1, *command)

    def ask(self, *command):
        """What a command of Slurm prints; nothing if it fails."""
        done = subprocess.run([str(word) for word in self.on_login(*command)], capture_output=True, text=True,
                              check=False, env=self.environment())
        return done.stdout if done.returncode == 0 else ""
