"""A worker that writes what it was given to $DUMP_FOLDER/<RANK>.json: environment, arguments, signals, descriptors.

Uses nothing but the standard library, so that the launcher alone is looked at.
"""
import json
import os
import signal
import stat
import sys


def open_descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            mode = os.fstat(int(name)).st_mode
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the folder's own descriptor, closed by now
        found[name] = {"target": target, "kind": stat.filemode(mode)[0]}
    return found


def signal_masks():
    fields = {}
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            name, value = line.split(":", 1)
            if name in ("SigBlk", "SigIgn", "SigCgt"):
                fields[name] = value.strip()
    return fields


def main():
    facts = {
        "environment": dict(os.environ),
        "arguments": sys.argv,
        "command": open("/proc/self/cmdline", "rb").read().decode().split("\0")[:-1],
        "folder": os.getcwd(),
        "pid": os.getpid(),
        "session": os.getsid(0),
        "group": os.getpgid(0),
        "umask": os.umask(0),
        "nice": os.nice(0),
        "cpus": sorted(os.sched_getaffinity(0)),
        "masks": signal_masks(),
        "blocked": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "descriptors": open_descriptors(),
    }
    path = os.path.join(os.environ["DUMP_FOLDER"], os.environ["RANK"] + ".json")
    with open(path + ".part", "w", encoding="utf-8") as out:
        json.dump(facts, out, indent=1)
    os.rename(path + ".part", path)


main()
