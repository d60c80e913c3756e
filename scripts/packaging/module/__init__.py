"""launch, a native launcher for distributed training: where pip has put the program.

    python -m launchrun ...     the same as the command `launch ...`
"""
import os
import sysconfig


def find_program():
    """The path of the program that came with this package."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(os.path.dirname(here), "bin"),  # pip install --target
               os.path.join(here, *[os.pardir] * 4, "bin"),  # below the prefix of this package
               sysconfig.get_path("scripts")]
    if "posix_user" in sysconfig.get_scheme_names():
        folders.append(sysconfig.get_path("scripts", "posix_user"))
    for folder in folders:
        path = os.path.normpath(os.path.join(folder, "launchrun"))
        if os.path.isfile(path):
            return path
    raise FileNotFoundError("its program `launchrun` is in none of " + ", ".join(map(os.path.normpath, folders)))
