"""Looking at /proc: who is alive, whose child it is, which environment it was started with."""
import os
import signal
import time


def _read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""  # gone, or not ours to look at


def _stat_fields(pid):
    """The words of /proc/PID/stat that follow the command's name, none when it is gone."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def _stat(pid):
    """State letter and parent of a process, None when it is gone."""
    fields = _stat_fields(pid)
    return (fields[0].decode(), int(fields[1])) if fields else None


def _table():
    """pid -> (state, parent) of everything alive; zombies are dead and only wait to be collected."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found = {pid: _stat(pid) for pid in pids}
    return {pid: entry for pid, entry in found.items() if entry and entry[0] not in "ZX"}


def command_of(pid):
    return _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def children_of(pid):
    return sorted(child for child, (_, parent) in _table().items() if parent == pid)


def launcher(pid):
    """The processes of the launcher that was started as `pid`: launch is a guard and its agent."""
    return {pid} | {child for child in children_of(pid) if _read(child, "comm") == b"job-agent\n"}


def descendants_of(pid):
    """All living processes below `pid`."""
    parents = {child: parent for child, (_, parent) in _table().items()}
    below, grown = {pid}, True
    while grown:
        grown = {child for child, parent in parents.items() if parent in below} - below
        below |= grown
    return below - {pid}


def marked(marker):
    """All living processes that were started with `marker` (NAME=VALUE) in their environment."""
    wanted = marker.encode()
    return {pid for pid in _table() if wanted in _read(pid, "environ").split(b"\0")}


def state(pid):
    """The letter that ps shows: R, S, D, T (stopped), Z; None when it is gone."""
    entry = _stat(pid)
    return entry and entry[0]


def alive(pid):
    entry = _stat(pid)
    return entry is not None and entry[0] not in "ZX"


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def collect_adopted():
    """Collects the dead that came to us from launchers that are gone; to be called when nothing of ours runs."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def pid_namespace(pid):
    """What names the namespace of process numbers that it lives in; None when it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def of_pid_namespace(name):
    """Everything in that namespace, zombies too."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and pid_namespace(pid) == name]


def context_switches(pid):
    """How often the threads of a process went to sleep by themselves, so how often something woke them."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        for line in _read(pid, f"task/{thread}/status").decode().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                total += int(line.split()[1])
    return total


def is_pending(pid, number):
    """True while a signal that was sent to the process has not been taken by it."""
    pending = [line.split()[1] for line in _read(pid, "status").decode().splitlines() if line.startswith("ShdPnd:")]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in pending)


def open_files(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def cpu_seconds(pid):
    """Processor time of all threads, also of those that ended, to the nanosecond: what clock_getcpuclockid(3) names."""
    return time.clock_gettime(~pid << 3 | 2)


def user_seconds(pid):
    """The part of it outside the kernel, as well as the kernel's ticks can tell."""
    return int(_stat_fields(pid)[11]) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid, field="Pss"):
    """A line of smaps_rollup: Pss counts a page shared by n processes as 1/n."""
    for line in _read(pid, "smaps_rollup").decode().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def peak_kib(pid):
    """The most memory that it has had at once."""
    for line in _read(pid, "status").decode().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0
