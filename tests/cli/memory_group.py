"""A control group of little memory, for jobs that the kernel's out-of-memory killer is to strike."""
import pathlib
import uuid


def own_group():
    """The memory control group of this process as a folder, version 1 or 2; None where there is none to be found."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for top in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            folder = pathlib.Path(top + path)
            if controllers in ("memory", "") and ((folder / "memory.limit_in_bytes").exists()
                                                  or (folder / "memory.max").exists()):
                return folder
    return None


def inside(test, *command):
    """The command line that runs `command` in a new group of 512 MiB, which lasts as long as the test."""
    above = own_group()
    group = above and above / f"launch-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        limit = next(group / name for name in ("memory.limit_in_bytes", "memory.max") if (group / name).exists())
        limit.write_text(str(512 << 20))
    except (AttributeError, OSError, StopIteration) as error:
        test.skipTest(f"no memory control group can be made here: {error}")  # tests/core has recorded ones
    test.addCleanup(group.rmdir)
    return ["sh", "-c", f'echo 0 > {group}/cgroup.procs && exec "$@"', "sh", *command]
