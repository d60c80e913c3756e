"""Several hosts on this machine: network namespaces on one bridge, each with an address of its own."""
import os
import subprocess
import uuid


class Hosts:
    """`count` hosts with the addresses 10.77.0.1, 10.77.0.2, …; use as a context manager. Needs root and iproute2."""

    def __init__(self, count):
        tag = uuid.uuid4().hex[:6]
        self.names = [f"launch-{tag}-{number}" for number in range(1, count + 1)]
        self.switch = f"launch-{tag}-switch"

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self):
        _ip("netns", "add", self.switch)
        _ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self.switch, "link", "set", "bridge", "up")
        for number, name in enumerate(self.names, 1):
            _ip("netns", "add", name)
            _ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", f"port{number}", "netns", self.switch)
            _ip("-n", self.switch, "link", "set", f"port{number}", "master", "bridge", "up")
            _ip("-n", name, "address", "add", f"{address(number)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")

    def __exit__(self, *_):
        for name in [*self.names, self.switch]:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)

    def cut(self, number):
        """Pulls the cable of host `number` out of the switch."""
        _ip("-n", self.switch, "link", "set", f"port{number}", "down")

    def drop_packets(self, number):
        """The cable of host `number` is in, but the switch no longer passes anything from there or to there."""
        _ip("-n", self.switch, "link", "set", f"port{number}", "nomaster")

    def inside(self, number, *command):
        """The command line that runs `command` on host `number`."""
        return ["ip", "netns", "exec", self.names[number - 1], *command]


def address(number):
    return f"10.77.0.{number}"


def possible():
    listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True)
    return os.geteuid() == 0 and listed.returncode == 0


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
