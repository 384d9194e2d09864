"""A real Slurm of two nodes on this machine: munged, slurmctld and two slurmd, all on the loopback.

Needs the Debian packages slurmctld, slurmd, slurm-client and munge, and root. Nothing outside its
folder is written; ports are free ones, so that several may run at once.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tests.stack import free_port, until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
_SBIN = "/usr/sbin:/usr/local/sbin"

CONFIG = """
ClusterName=lastgood
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge/socket
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
ReturnToService=2
MailProg=/bin/true
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=1
SlurmctldPort={port}
{nodes}
PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why no cluster can run here, "" if one can."""
    path = f"{os.environ['PATH']}:{_SBIN}"
    absent = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if absent:
        return f"no {', '.join(absent)} (apt-get install slurmctld slurmd slurm-client munge)"
    return "" if os.geteuid() == 0 else "a cluster of one's own needs root"


class SlurmCluster:
    """Nodes gpu-a01 and gpu-a02, each with one CPU."""

    nodes = ("gpu-a01", "gpu-a02")

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {
            **os.environ,
            "PATH": f"{os.environ['PATH']}:{_SBIN}",
            "SLURM_CONF": str(home / "slurm.conf"),
        }
        self._running: list[subprocess.Popen[bytes]] = []
        self._old: set[str] = set()

    def start(self) -> None:
        """Returns when both nodes are idle: 2 to 4 s."""
        host = socket.gethostname().partition(".")[0]
        for name in ("munge", "state", *self.nodes):
            (self.home / name).mkdir()
        self._start_munge()
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} "
            "CPUs=1 RealMemory=100 State=UNKNOWN"
            for name in self.nodes
        )
        text = CONFIG.format(host=host, home=self.home, port=free_port(), nodes=nodes)
        (self.home / "slurm.conf").write_text(text)
        self._start("slurmctld", "-c", "-D")
        for name in self.nodes:
            self._start("slurmd", "-D", "-N", name)
        until(self._idle, "the nodes of the cluster", 60)

    def _start_munge(self) -> None:
        folder = self.home / "munge"
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        options = ("--foreground", "--force", f"--socket={folder}/socket", f"--key-file={key}",
                   f"--pid-file={folder}/pid", f"--seed-file={folder}/seed",
                   f"--log-file={folder}/log")  # fmt: skip
        self._start("munged", *options)
        until(lambda: (folder / "socket").exists(), "munged", 20)

    def _start(self, *argv: str) -> None:
        with (self.home / f"{argv[0]}.out").open("ab") as out:
            process = subprocess.Popen(argv, env=self.env, stdout=out, stderr=out)
        self._running.append(process)

    def _idle(self) -> bool:
        ended = [process.args for process in self._running if process.poll() is not None]
        assert not ended, f"{ended} ended; see {self.home}"
        listed = self.ask("sinfo", "--noheader", "--Node", "--format=%T").split()
        return listed == ["idle"] * len(self.nodes)

    def ask(self, *argv: str) -> str:
        """What a command prints; "" if it fails."""
        done = subprocess.run(argv, env=self.env, capture_output=True, check=False, text=True)
        return done.stdout if done.returncode == 0 else ""

    def submit(self, script: Path, *options: str) -> str:
        """The number of a new job."""
        return self.ask("sbatch", "--parsable", *options, str(script)).strip()

    def jobs(self) -> dict[str, str]:
        """Number -> state of all jobs since the cluster was cleared."""
        lines = self.ask("squeue", "--noheader", "--states=all", "--format=%i %T").splitlines()
        found = dict(line.split() for line in lines)
        return {job: state for job, state in found.items() if job not in self._old}

    def clear(self) -> None:
        """No job runs, and every node is at work."""
        for job in self.jobs():
            self.ask("scancel", job)
            self._old.add(job)
        nodes = ",".join(self.nodes)
        self.ask("scontrol", "update", f"NodeName={nodes}", "State=RESUME")
        until(self._idle, "idle nodes", 30)

    def stop(self) -> None:
        """Ends jobs, then servers; killed, because slurmctld would write its state for 10 s."""
        for job in self.jobs():
            self.ask("scancel", job)
        until(self._nothing_runs, "the end of all jobs", 30)
        for process in reversed(self._running):
            process.kill()
            process.wait()

    def _nothing_runs(self) -> bool:
        """True also where the cluster has never come up."""
        return self.ask("squeue", "--noheader", "--states=RUNNING,COMPLETING") == ""
