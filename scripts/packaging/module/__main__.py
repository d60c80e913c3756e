"""python -m launchrun: becomes the program."""
import os
import sys

from . import find_program


def main():
    try:
        program = find_program()
    except FileNotFoundError as error:
        print(f"launchrun: error: {error}; install the package again", file=sys.stderr)
        return 127
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"launchrun: error: cannot execute {program}: {error.strerror}; its folder may be on a file system that "
              "is mounted with noexec, or the package is for another machine", file=sys.stderr)
    return 126


if __name__ == "__main__":
    sys.exit(main())
