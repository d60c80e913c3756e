"""Hosts of this machine that have names: n1, n2, …, and login, from which jobs are started.

Each has a network, a name and a /etc/hosts of its own. Daemons stay in the foreground, so that their end is seen, and
all that they write is in the test's folder. Needs root and iproute2.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import hosts
import processes
from running import wait_for


def missing(programs):
    """What a machine lacks for this, and of these programs; empty: nothing."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    lacks = [program for program in (*programs, "nsenter", "unshare") if not shutil.which(program, path=path)]
    return ", ".join(lacks) if lacks else "" if hosts.possible() else "network namespaces (root, iproute2)"


class NamedHosts:
    """Use as a context manager. `env` is that of all that runs there."""

    def __init__(self, folder, count, env=None):
        self.env = env or {}
        self.folder = pathlib.Path(folder)
        self.count = count
        self.place = hosts.Hosts(count + 1)
        self.daemons = []

    def begin(self):
        """Starts the daemons."""

    def empty(self):
        """Ends what was started by the daemons."""

    def __enter__(self):
        self.place.__enter__()
        try:
            self.folder.mkdir(parents=True)
            os.chmod(self.folder.parent, 0o755)
            lines = [f"{hosts.address(number)} {self.name(number)}" for number in range(1, self.count + 2)]
            (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "\n".join(lines) + "\n")
            (self.folder / "nsswitch").write_text("passwd: files\ngroup: files\nhosts: files\n")
            self.begin()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *_):
        self.empty()
        for daemon in reversed(self.daemons):
            wait_for(lambda daemon=daemon: self._end(daemon), 10)
        self.place.__exit__()

    def _end(self, daemon):
        """A daemon's children, such as the steps of Slurm, end with it."""
        if daemon.poll() is None:
            processes.kill([*processes.descendants_of(daemon.pid), daemon.pid])
        return daemon.poll() is not None

    def daemon(self, number, *command):
        """Starts one on host `number`; None: on the machine itself."""
        line = [str(word) for word in (self.inside(number, *command) if number else command)]
        with open(self.folder / f"{pathlib.Path(command[0]).name}.{number}.out", "wb") as out:
            self.daemons.append(subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                                 env=self.environment()))
        return self.daemons[-1]

    def environment(self):
        return {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "HOME": "/root", "LC_ALL": "C.UTF-8", **self.env}

    def name(self, number):
        return f"n{number}" if number <= self.count else "login"

    def files_of(self, number):
        """What lies on host `number` in place of the machine's own: there -> which file of the test's folder."""
        return {"/etc/hosts": "hosts", "/etc/nsswitch.conf": "nsswitch"}

    def inside(self, number, *command):
        """The command line that runs `command` on host `number`, which knows its name and those of the others."""
        mounts = " && ".join(f"mount --bind {self.folder}/{file} {there}"
                             for there, file in self.files_of(number).items())
        # What tests/place has put there is on deleted files, which nothing can be put on.
        script = (f'umount /etc/hosts /etc/nsswitch.conf 2>&-; {mounts} && hostname {self.name(number)} && '
                  'exec "$0" "$@"')
        network = f"--net=/run/netns/{self.place.names[number - 1]}"
        return ["nsenter", network, "unshare", "--uts", "--mount", "sh", "-c", script, *command]

    def on_login(self, *command):
        return self.inside(self.count + 1, *command)

    def ask(self, *command):
        """What a command prints on login; nothing if it fails."""
        done = subprocess.run([str(word) for word in self.on_login(*command)], capture_output=True, text=True,
                              check=False, env=self.environment())
        return done.stdout if done.returncode == 0 else ""
