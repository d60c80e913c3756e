"""Hosts that reach each other by ssh, with keys of their own. Needs Debian's openssh-server and openssh-client."""
import os
import pathlib
import shutil
import subprocess

import hosts
import named_hosts
from running import wait_for

PROGRAMS = ("sshd", "ssh", "ssh-keygen")


def missing():
    """What a machine lacks for this; empty: nothing."""
    return named_hosts.missing(PROGRAMS)


class SshPlace(named_hosts.NamedHosts):
    """Use as a context manager. Everywhere the first ssh on the PATH knows the key and the hosts."""

    def __init__(self, folder, count=4, env=None):
        super().__init__(pathlib.Path(folder) / "ssh", count, env)
        self.env["PATH"] = f"{self.folder}/bin:{super().environment()['PATH']}"

    def begin(self):
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        numbers = range(1, self.count + 2)
        self.know(numbers)
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F none -i {self.folder}/user -o BatchMode=yes '
                           f'-o UserKnownHostsFile={self.folder}/known "$@"\n')
        wrapper.chmod(0o755)
        os.makedirs("/run/sshd", exist_ok=True)
        for number in numbers:
            self.start_sshd(number)
        for number in numbers:
            wait_for(self.file_of_pid(number).exists, 10)

    def know(self, numbers):
        """The user knows the keys of these hosts, and of no other."""
        key = (self.folder / "host.pub").read_text()
        (self.folder / "known").write_text("".join(f"{self.name(number)},{hosts.address(number)} {key}"
                                                   for number in numbers))

    def start_sshd(self, number):
        sshd = shutil.which("sshd", path=self.environment()["PATH"])
        words = (word for name, value in self.options_of_sshd(number).items() for word in ("-o", f"{name}={value}"))
        return self.daemon(number, sshd, "-D", "-e", "-f", "none", *words)

    def options_of_sshd(self, number):
        return {"HostKey": self.folder / "host", "AuthorizedKeysFile": self.folder / "user.pub",
                "PidFile": self.file_of_pid(number), "StrictModes": "no", "UsePAM": "no", "UseDNS": "no",
                "MaxStartups": "100", "SetEnv": f"PATH={self.env['PATH']}"}

    def file_of_pid(self, number):
        """Has the sshd of that host, once it listens."""
        return self.folder / f"{self.name(number)}.pid"
