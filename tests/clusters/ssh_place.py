"""Hosts that reach each other by ssh, with keys of their own. Needs Debian's openssh-server and openssh-client."""
import os
import pathlib
import shutil
import subprocess

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
        key = (self.folder / "host.pub").read_text()
        (self.folder / "known").write_text("".join(f"{self.name(number)} {key}"
                                                   for number in range(1, self.count + 2)))
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F none -i {self.folder}/user -o BatchMode=yes '
                           f'-o UserKnownHostsFile={self.folder}/known "$@"\n')
        wrapper.chmod(0o755)
        os.makedirs("/run/sshd", exist_ok=True)
        sshd = shutil.which("sshd", path=self.environment()["PATH"])
        for number in range(1, self.count + 2):
            options = {"HostKey": self.folder / "host", "AuthorizedKeysFile": self.folder / "user.pub",
                       "PidFile": self.folder / f"{self.name(number)}.pid", "StrictModes": "no", "UsePAM": "no",
                       "UseDNS": "no", "MaxStartups": "100", "SetEnv": f"PATH={self.env['PATH']}"}
            self.daemon(number, sshd, "-D", "-e", "-f", "none",
                        *(word for name, value in options.items() for word in ("-o", f"{name}={value}")))
        for number in range(1, self.count + 2):
            wait_for((self.folder / f"{self.name(number)}.pid").exists, 10)
