"""A real Slurm of several hosts on this machine. Needs Debian's packages slurmctld, slurmd, slurm-client and munge."""
import os
import pathlib
import stat
import sys

import hosts
import named_hosts
from running import wait_for

# A reader's program: it says its rank in one write, since several write to one pipe.
TRAIN = f"""#!{sys.executable}
import os
os.write(1, b"%s of %s\\n" % (os.environb[b"RANK"], os.environb[b"WORLD_SIZE"]))
"""
PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "salloc", "sinfo", "scancel", "scontrol", "munged")

CONF = """ClusterName=tiny
SlurmctldHost=login({login})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_min_interval=0,default_queue_depth=1000
GresTypes=gpu
NodeName=n[1-{count}] CPUs={cpus} RealMemory=1000 Gres=gpu:{gpus}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What a machine lacks for this; empty: nothing."""
    return named_hosts.missing(PROGRAMS)


class SlurmPlace(named_hosts.NamedHosts):
    """Use as a context manager.

    `gpus`: how many files each node has that Slurm takes for devices; it sets CUDA_VISIBLE_DEVICES.
    """

    def __init__(self, folder, count=4, env=None, *, cpus=8, gpus=0):
        super().__init__(pathlib.Path(folder) / "slurm", count, env)
        self.cpus, self.gpus = cpus, gpus

    def begin(self):
        munge = self.folder / "munge"
        for folder in (munge, self.folder / "state"):
            folder.mkdir()
        conf = self.folder / "slurm.conf"
        conf.write_text(CONF.format(folder=self.folder, count=self.count, login=hosts.address(self.count + 1),
                                    cpus=self.cpus, gpus=self.gpus))
        self._make_gpus()
        key = munge / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.daemon(None, "munged", "--foreground", "--force", f"--socket={munge}/socket", f"--key-file={key}",
                    f"--pid-file={munge}/pid", f"--seed-file={munge}/seed", f"--log-file={munge}/log")
        wait_for((munge / "socket").exists, 10)
        self.daemon(self.count + 1, "slurmctld", "-D", "-f", conf)
        for number in range(1, self.count + 1):
            self.daemon(number, "slurmd", "-D", "-f", conf, "-N", self.name(number))
        wait_for(lambda: self.count == self.ask("sinfo", "-h", "-N", "-o", "%T").split().count("idle"), 30)

    def _make_gpus(self):
        devices = [self.folder / f"gpu{number}" for number in range(self.gpus)]
        for device in devices:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # /dev/null by another name
        (self.folder / "gres.conf").write_text("".join(f"Name=gpu File={device}\n" for device in devices))

    def empty(self):
        if self.ask("squeue", "-h").strip():
            self.ask("scancel", "--full", "-u", "root")
            wait_for(lambda: not self.ask("squeue", "-h").strip(), 20)

    def environment(self):
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), **super().environment()}
