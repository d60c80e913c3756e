"""Hosts on which launch is installed and that are reached by ssh, and all that can be wrong with one of them.

Each host has a home folder of its own, and on its PATH a folder of its own in which `launch` lies. What is changed
while the hosts are there counts from the next login on. Users are root, and `train`, who is root by another name.
"""
import os
import pathlib
import shutil
import signal
import subprocess

import hosts
import processes
import ssh_place
from running import wait_for

# The launch of another version: it greets, and waits to be told what to do.
OTHER_VERSION = '#!/bin/sh\necho "launch-remote 1 {version} $$ $(hostname)"\nexec cat > /dev/null\n'
# Runs a command of another host's login there, without ssh: enter HOST COMMAND...
ENTER = """#!/bin/sh
host=$1
shift
read -r pid < "{folder}/$host.pid"
exec nsenter --target "$pid" --net --mount --uts env PATH="{folder}/path.$host:{path}" HOME="{folder}/home.$host" \\
  sh -c "$*"
"""


class HostsPlace(ssh_place.SshPlace):
    """Use as a context manager. `launch`: the program that is installed. The head is to run on login."""

    def __init__(self, folder, launch, count=8, env=None):
        super().__init__(folder, count, env)
        self.launch = launch
        self.sshd = {}
        self.program_of_head = self.folder / "of the head" / "launch"

    def begin(self):
        passwd = pathlib.Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
        for number in range(1, self.count + 2):
            name, home = self.name(number), self.home_of(number)
            home.mkdir()
            self.path_of(number).mkdir()
            (self.path_of(number) / "launch").symlink_to(self.launch)
            users = [f"root:x:0:0:root:{home}:/bin/bash", f"train:x:0:0:train:{home}:/bin/sh",
                     *(line for line in passwd if not line.startswith(("root:", "train:")))]
            (self.folder / f"passwd.{name}").write_text("\n".join(users) + "\n")
            self.authorized_of(number).write_text("")
        super().begin()
        for number in range(1, self.count + 2):
            self.authorized_of(number).write_text((self.folder / "user.pub").read_text())
        # In a folder whose name no login is asked for: so it is the launch of each host that is found there.
        self.program_of_head.parent.mkdir()
        shutil.copy(self.launch, self.program_of_head)
        enter = self.folder / "enter"
        enter.write_text(ENTER.format(folder=self.folder, path=self.environment()["PATH"]))
        enter.chmod(0o755)

    def home_of(self, number):
        return self.folder / f"home.{self.name(number)}"

    def path_of(self, number):
        return self.folder / f"path.{self.name(number)}"

    def authorized_of(self, number):
        return self.folder / f"authorized.{self.name(number)}"

    def files_of(self, number):
        return {**super().files_of(number), "/etc/passwd": f"passwd.{self.name(number)}"}

    def environment(self):
        """That of the user on login."""
        return {**super().environment(), "HOME": str(self.home_of(self.count + 1))}

    def options_of_sshd(self, number):
        path = f"{self.path_of(number)}:{self.env['PATH']}"
        return {**super().options_of_sshd(number), "AuthorizedKeysFile": self.authorized_of(number),
                "SetEnv": f"PATH={path} TMPDIR={self.folder.parent}/tmp"}

    def start_sshd(self, number):
        self.sshd[number] = super().start_sshd(number)
        return self.sshd[number]

    def stop_sshd(self, number):
        """Nothing listens there any more; who is logged in stays."""
        self.sshd[number].kill()
        self.sshd[number].wait()
        self.file_of_pid(number).unlink()

    def remove_launch(self, number):
        (self.path_of(number) / "launch").unlink()

    def install(self, number, text, name="launch"):
        """Another program by this name."""
        program = self.path_of(number) / name
        program.unlink(missing_ok=True)
        program.write_text(text)
        program.chmod(0o755)

    def install_version(self, number, version):
        self.install(number, OTHER_VERSION.format(version=version))

    def put_in_rc(self, number, text):
        """What the shell of each login of root there runs first."""
        (self.home_of(number) / ".bashrc").write_text(text)

    def refuse_key(self, number):
        self.authorized_of(number).write_text("")

    def forget_keys_of(self, *numbers):
        self.know(number for number in range(1, self.count + 2) if number not in numbers)

    def mount(self, number, *words):
        """What that host alone has in its folders."""
        subprocess.run(["nsenter", f"--mount=/proc/{self.sshd[number].pid}/ns/mnt", "mount", *map(str, words)],
                       check=True)

    def empty_folder(self, number, folder):
        """On that host nothing is in this folder."""
        self.mount(number, "-t", "tmpfs", "none", folder)

    def fill_folder(self, number, folder):
        """On that host this folder is a file system of its own, in which nothing is free."""
        self.mount(number, "-t", "tmpfs", "-o", "size=64k", "none", folder)
        filler = f"/proc/{self.sshd[number].pid}/root{folder}/filler"
        with open(filler, "wb", buffering=0) as file:
            file.write(bytes(64 << 10))

    def hide_programs(self, number, *names):
        """On that host no folder of the user's PATH has a program of these names."""
        for folder in self.environment()["PATH"].split(":"):
            for name in names:
                if (program := pathlib.Path(folder, name)).exists():
                    self.mount(number, "--bind", "/dev/null", program.resolve())

    def name_itself(self, number, address):
        """On that host its own name leads to this address, as Debian's installer has it; empty: nowhere."""
        lines = (self.folder / "hosts").read_text().splitlines()
        own = [line for line in lines if line.split()[1] != self.name(number)]
        file = self.folder / f"hosts.{self.name(number)}"
        file.write_text("\n".join(own + [f"{address} {self.name(number)}"] * bool(address)) + "\n")
        self.mount(number, "--bind", file, "/etc/hosts")

    def set_mtu(self, number, mtu):
        subprocess.run(["ip", "-n", self.place.names[number - 1], "link", "set", "eth0", "mtu", str(mtu)], check=True)

    def skew_clock(self, number, seconds):
        """The clock is that much ahead, for launch and what it starts there."""
        self.install(number, f"#!/bin/sh\nFAKETIME_DONT_FAKE_MONOTONIC=1 exec faketime -f '{seconds:+}s' "
                             f"{self.launch} \"$@\"\n")

    def refuse_way(self, number, to):
        """Between these two hosts nothing passes."""
        self.place.refuse_way(number, to, "prohibit")

    def leave_behind(self, number, run_id):
        """A worker of a job whose launch is gone: its pid. The init of a container has taken it over."""
        init = self.folder / "tini"
        init.write_text('#!/bin/sh\nTORCHELASTIC_RUN_ID="$1" sleep 1000 < /dev/null & echo $!\nwait\n')
        init.chmod(0o755)
        process = subprocess.Popen(self.inside(number, init, run_id), env=self.environment(), text=True,
                                   stdout=subprocess.PIPE)
        self.daemons.append(process)
        return int(process.stdout.readline())

    def cut(self, number):
        self.place.cut(number)

    def plug_in(self, number):
        self.place.plug_in(number)

    def add_lone_address(self, number, address):
        """One that no other host can reach."""
        subprocess.run(["ip", "-n", self.place.names[number - 1], "address", "add", f"{address}/32", "dev", "lo"],
                       check=True)

    def running(self, *numbers):
        """All living processes on these hosts, on all when none is named; sshd and what it keeps for a login are not
        among them: of a connection that was cut it does not know."""
        wanted = {os.stat(f"/run/netns/{self.place.names[number - 1]}").st_ino
                  for number in numbers or range(1, self.count + 2)}
        return {pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                if _network(pid) in wanted and processes.alive(pid) and _name(pid) != "sshd"}

    def wait_until_empty(self, *numbers, seconds=20):
        """True once nothing runs on these hosts."""
        return wait_for(lambda: not self.running(*numbers), seconds)

    def shown(self):
        """What runs where, for a test that has failed."""
        return "\n".join(f"  {self.name(number)}: {pid} {processes.command_of(pid)}"
                         for number in range(1, self.count + 2) for pid in sorted(self.running(number)))

    def clients(self, number):
        """The ssh clients on login that are connected with that host."""
        return [pid for pid in self.running(self.count + 1)
                if _name(pid) == "ssh" and self.name(number) in processes.command_of(pid).split()]

    def kill_client(self, number):
        (client,) = self.clients(number)
        os.kill(client, signal.SIGKILL)

    def address(self, number):
        return hosts.address(number)


def _network(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None  # gone


def _name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
