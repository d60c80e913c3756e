"""A place of its own for whatever a test starts: a network that has only its loopback, and names that always resolve.

So tests that run beside each other cannot meet: a port belongs to whoever is in the same place. PyTorch asks the
reverse DNS at each connection, and if the name server is silent that takes seconds, whoever launched: here names
come from a private /etc/hosts alone.

    python3 tests/place.py PROGRAM [ARGUMENT]...     runs a program there
"""
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile

SKIP_CODE = 77  # the exit code of a script that was skipped
ENTERED = "LAUNCH_TEST_PLACE"
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SCRIPT = ('mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && mount --bind "$0/hosts" /etc/hosts || exit 99\n'
          f'rm -r "$0"; export {ENTERED}=own; exec "$@"')


def must_run_everything():
    return os.environ.get("CI", "").lower() == "true"


def cannot_run(reason):
    """Ends the script: skipped on a developer's machine, failed where CI=true says that everything must run."""
    print(f"SKIPPED: {reason}", file=sys.stderr, flush=True)
    sys.exit(1 if must_run_everything() else SKIP_CODE)


def enter(needed=True):
    """Starts the script again in a place of its own. If this user may not make one, it is skipped if it is `needed`."""
    if os.environ.get(ENTERED):
        return
    unshare = ["unshare", "--mount", "--net"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    possible = subprocess.run([*unshare, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    if not possible and needed:
        cannot_run("real PyTorch workers need names that resolve, and this user may not make a mount namespace (root)")
    if not possible or not needed and os.geteuid() != 0:  # what is not needed is not worth becoming another user
        return
    sys.stdout.flush()
    os.execvp("unshare", [*unshare, "sh", "-c", SCRIPT, str(_names()), sys.executable, __file__, sys.executable,
                          *sys.argv])


def _names():
    """A folder with the files that say how names are looked up."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="launch-names-"))
    (folder / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
    name = socket.gethostname()
    (folder / "hosts").write_text(f"127.0.0.1 localhost {name}\n::1 localhost ip6-localhost\n"
                                  f"::ffff:127.0.0.1 localhost\n")
    return folder


def set_loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def forget_signals():
    """What a shell ignores for a job in the background, or nohup, is not what tests are about."""
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main():
    forget_signals()
    enter(needed=False)
    if os.environ.get(ENTERED):
        set_loopback_up()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
