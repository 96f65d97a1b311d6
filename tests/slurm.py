"""A real Slurm of one node on this machine, of Debian's packages `slurm-wlm` and `munge`."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.waiting import wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
KillWait=5
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why Slurm cannot run here; empty where it can."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"needs {', '.join(missing)}: apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "Slurm's daemons need root"


def asked(*words: str) -> str:
    """What one of Slurm's programs answers."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextmanager
def running() -> Iterator[Path]:
    """Starts Slurm, whose programs find it by the environment; yields the folder of its logs."""
    if reason := why_not():
        pytest.skip(reason)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        # A socket's path may be 107 bytes long, which pytest's folders come near to.
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="senn-slurm-")))
        patch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin")
        patch.setenv("SLURM_CONF", str(place / "slurm.conf"))
        place.chmod(0o755)
        for name in ("state", "spool"):
            (place / name).mkdir()
        controller, daemon = _free_ports()
        (place / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                place=place,
                controller=controller,
                daemon=daemon,
            )
        )
        for number in range(2):  # devices of no driver: Slurm counts them, and nobody opens them
            os.mknod(place / f"nvidia{number}", 0o600 | stat.S_IFCHR, os.makedev(195, number))
        (place / "gres.conf").write_text(f"Name=gpu File={place}/nvidia[0-1]\n")
        (place / "cgroup.conf").write_text("CgroupPlugin=autodetect\n")
        key = place / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        named = {"key-file": key, "socket": place / "munge.socket", "pid-file": place / "munge.pid"}
        named |= {"seed-file": place / "munge.seed"}
        munge = [f"--{option}={file}" for option, file in named.items()]
        stack.enter_context(_daemon(place, "munged", "--foreground", "--force", *munge))
        wait_until((place / "munge.socket").exists, "munge's socket")
        stack.enter_context(_daemon(place, "slurmctld", "-D"))
        stack.enter_context(_daemon(place, "slurmd", "-D"))
        wait_until(lambda: "idle" in _states(), "a node that is idle")
        try:
            yield place
        finally:
            for number in asked("squeue", "--noheader", "--format=%i").split():
                asked("scancel", number)
            wait_until(lambda: not asked("squeue", "--noheader"), "an empty queue")


def _states() -> str:
    done = subprocess.run(["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True)
    return done.stdout


@contextmanager
def _daemon(place: Path, *words: str) -> Iterator[None]:
    with open(place / f"{words[0]}.log", "wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def _free_ports() -> list[int]:
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in (first, second)]
