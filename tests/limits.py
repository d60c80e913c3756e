"""Limits of this process, and of what it starts meanwhile, that a test may need to move."""
import contextlib
import resource

WANTED_FILES = 65536


@contextlib.contextmanager
def many_descriptors():
    """As many open files as the system lets us have; gives the number."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:  # root may go above the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[1], WANTED_FILES),) * 2)
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
