"""launch, a native launcher for distributed training: where pip has put the program.

    python -m launchrun ...     the same as the command `launch ...`
"""
import os
import sysconfig


def find_program():
    """The path of the program that came with this package."""
    schemes = [sysconfig.get_path("scripts")]
    user = {"posix": "posix_user"}.get(os.name)
    if user in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", user))
    here = os.path.dirname(os.path.abspath(__file__))
    schemes.append(os.path.join(os.path.dirname(here), "bin"))  # pip install --target
    schemes.append(os.path.join(here, *[os.pardir] * 4, "bin"))  # pip install --prefix
    for folder in schemes:
        path = os.path.normpath(os.path.join(folder, "launch"))
        if os.path.isfile(path) and _is_ours(path):
            return path
    raise FileNotFoundError("the program `launch` of this package is in none of " + ", ".join(schemes))


def _is_ours(path):
    """Other packages have a command of that name, which is a script."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"
