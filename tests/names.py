"""A private view of host names for runs with PyTorch, and the way to say that a run cannot be done here."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

SKIP_CODE = 77  # what ctest takes for "skipped" where SKIP_RETURN_CODE says so


def must_run_everything():
    return os.environ.get("CI", "").lower() == "true"


def cannot_run(reason):
    """Ends the script: skipped on a developer's machine, failed where CI=true says that everything must run."""
    print(f"SKIPPED: {reason}", file=sys.stderr, flush=True)
    sys.exit(1 if must_run_everything() else SKIP_CODE)


def enter():
    """Starts the script again where names come from a private /etc/hosts alone, so that no name server is asked.

    PyTorch asks the reverse DNS at each connection; where it is silent that takes seconds, whoever launched.
    """
    if os.environ.get("LAUNCH_TEST_NAMES") == "private":
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="launch-names-"))
    (folder / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
    name = socket.gethostname()
    (folder / "hosts").write_text(f"127.0.0.1 localhost {name}\n::1 localhost ip6-localhost\n"
                                  f"::ffff:127.0.0.1 localhost\n")
    script = ('mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && mount --bind "$0/hosts" /etc/hosts || exit 99\n'
              'rm -r "$0"; export LAUNCH_TEST_NAMES=private; exec "$@"')
    unshare = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if subprocess.run([*unshare, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        shutil.rmtree(folder)
        cannot_run("real PyTorch workers need names that resolve, and this user may not make a mount namespace (root)")
    sys.stdout.flush()
    os.execvp("unshare", [*unshare, "sh", "-c", script, str(folder), sys.executable, *sys.argv])
