"""Whether this process is one of several that train one run, as a launcher or options say it.

Only what starts processes side by side counts: Slurm's `srun` with more than one task, Open MPI's
`mpirun`, or the options `--hosts`, `--host-id` and `--coordinator`. That a job *has* several tasks
does not: its batch script, or a notebook in its allocation, is one process that would wait for
others for ever.

The variables are those of the launchers' manuals: `srun(1)`, "OUTPUT ENVIRONMENT VARIABLES", and
Open MPI's "Environment variables set by mpirun".
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from senn_cli.cluster.variables import number_of, odd, text_of
from senn_cli.errors import UsageError
from senn_cli.words import plural

FIRST_PORT, PORTS = 61440, 4096
"""Ports that no system gives away by itself (Linux up to 60999), one of them for each job."""


@dataclass(frozen=True)
class Processes:
    """The processes of a run, seen from one of them.

    Attributes:
      count: how many there are; 1 where this one is alone.
      index: the number of this one, from 0.
      coordinator: `HOST:PORT` at which process 0 can be reached; empty where this one is alone.
      local_count: how many of them are on this machine, as far as the launcher says so.
      local_index: the number of this one among those, from 0.
      words: what was detected, or why this process is alone though something of a launcher is in
        its environment; empty where there is nothing to say.
    """

    count: int = 1
    index: int = 0
    coordinator: str = ""
    local_count: int = 1
    local_index: int = 0
    words: str = ""

    @property
    def several(self) -> bool:
        """Whether there are others."""
        return self.count > 1


def detect(
    environment: Mapping[str, str],
    *,
    hosts: int | None = None,
    host_id: int | None = None,
    coordinator: str | None = None,
    interactive: bool = False,
) -> Processes:
    """What the options say, else Open MPI, else Slurm.

    Open MPI is asked before Slurm: inside of a job its own daemons are Slurm's tasks, and what they
    start inherits numbers that are not its own.

    Args:
      environment: as `os.environ`.
      hosts: `--hosts`, the number of processes; 1 says that this one is alone, whatever the
        environment says.
      host_id: `--host-id`, the number of this one.
      coordinator: `--coordinator`, for a launcher's address of process 0 or in place of it.
      interactive: whether somebody types into this process, which is then alone.

    Raises:
      UsageError: options that do not go together, or variables that are not as launchers set them.
    """
    if coordinator is not None:
        _require_address(coordinator, "--coordinator")
    if hosts is not None or host_id is not None:
        return _of_options(hosts, host_id, coordinator)
    for find in (_of_open_mpi, _of_slurm):
        found = find(environment, coordinator, interactive)
        if found is not None:
            return found
    if coordinator is not None:
        raise UsageError(
            "--coordinator is given, but nothing says how many processes there are",
            hint="Give --hosts and --host-id as well, or start the processes with srun or mpirun.",
        )
    return Processes()


def _of_options(hosts: int | None, host_id: int | None, coordinator: str | None) -> Processes:
    given = {"--hosts": hosts, "--host-id": host_id, "--coordinator": coordinator}
    lacking = [name for name, value in given.items() if value is None]
    if hosts is not None and hosts < 1:
        raise UsageError(f"--hosts is {hosts}, and a run has at least one process")
    if hosts == 1 and host_id in (None, 0):
        return Processes(words="one process, as --hosts says")
    if lacking:
        raise UsageError(
            f"without {' and '.join(lacking)} the processes cannot find each other",
            hint="Each of them needs --hosts N, --host-id 0 to N-1, and --coordinator HOST:PORT "
            "of the one with --host-id 0.",
        )
    assert hosts is not None and host_id is not None and coordinator is not None
    if not 0 <= host_id < hosts:
        raise UsageError(
            f"--host-id is {host_id}, and with --hosts {hosts} it is one of 0 to {hosts - 1}"
        )
    return Processes(
        count=hosts,
        index=host_id,
        coordinator=coordinator,
        words=_told(host_id, hosts, "as the options say", coordinator),
    )


def _of_open_mpi(
    environment: Mapping[str, str], coordinator: str | None, interactive: bool
) -> Processes | None:
    if "OMPI_COMM_WORLD_SIZE" not in environment:
        return None
    count = number_of(environment, "OMPI_COMM_WORLD_SIZE", least=1)
    if count == 1:
        return Processes(words="one process: Open MPI has started no other")
    if interactive:
        return Processes(words=_typed_into("Open MPI", count))
    index = number_of(environment, "OMPI_COMM_WORLD_RANK", below=count)
    address = coordinator or _launcher(environment)
    local = number_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", least=1)
    return Processes(
        count=count,
        index=index,
        coordinator=address,
        local_count=local,
        local_index=number_of(environment, "OMPI_COMM_WORLD_LOCAL_RANK", below=local),
        words=_told(index, count, "by Open MPI", address),
    )


def _launcher(environment: Mapping[str, str]) -> str:
    """The machine of `mpirun`, on which process 0 is by default.

    Open MPI 4 tells its address in a URI such as `1531576320.0;tcp://10.96.0.1,10.148.0.1:34911`;
    Open MPI 5 tells that of each machine's own daemon only.
    """
    uri = environment.get("OMPI_MCA_orte_hnp_uri", "")
    # Alike in all processes of a job, and another one in every job.
    job = environment.get("PMIX_NAMESPACE") or uri.partition(";")[0]
    port = _port(zlib.crc32(job.encode()))
    if environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") == environment["OMPI_COMM_WORLD_SIZE"]:
        return f"127.0.0.1:{port}"
    found = re.search(r"tcp://([^,:]+)[,:]|tcp6://\[([^],]+)[],]", uri)
    if found is not None:
        return f"{found[1]}:{port}" if found[1] else f"[{found[2]}]:{port}"
    raise UsageError(
        "Open MPI has started this process, but not told the address of process 0",
        hint="Give --coordinator HOST:PORT to all of them: a free port on the machine of process "
        "0, which is the first of mpirun's hosts.",
    )


def _of_slurm(
    environment: Mapping[str, str], coordinator: str | None, interactive: bool
) -> Processes | None:
    if "SLURM_JOB_ID" not in environment:
        return None
    job, step = environment["SLURM_JOB_ID"], environment.get("SLURM_STEP_ID", "")
    if "SLURM_STEP_NUM_TASKS" not in environment or not step:
        tasks = environment.get("SLURM_NTASKS", "1")
        more = "" if tasks == "1" else f", though the job has {tasks} tasks"
        return Processes(words=f"one process: in Slurm's job {job}, but not under srun{more}")
    count = number_of(environment, "SLURM_STEP_NUM_TASKS", least=1)
    if count == 1:
        return Processes(words=f"one process: Slurm's step {job}.{step} has one task")
    if interactive:
        return Processes(words=_typed_into(f"Slurm's step {job}.{step}", count))
    index = number_of(environment, "SLURM_PROCID", below=count)
    host = first_host(text_of(environment, "SLURM_STEP_NODELIST"))
    # A job's steps can run side by side.
    own = number_of(environment, "SLURM_JOB_ID") + 61 * number_of(environment, "SLURM_STEP_ID")
    address = coordinator or f"{host}:{_port(own)}"
    local = _tasks_here(environment)
    return Processes(
        count=count,
        index=index,
        coordinator=address,
        local_count=local,
        local_index=number_of(environment, "SLURM_LOCALID", below=local),
        words=_told(index, count, f"of Slurm's step {job}.{step}", address),
    )


def first_host(nodes: str) -> str:
    """The first of Slurm's list of nodes, where a step has its task 0.

    >>> [first_host(nodes) for nodes in ("a,b[1-2]", "n[07-12,3]", "r[1-2]n[3-4]", "gpu-1")]
    ['a', 'n07', 'r1n3', 'gpu-1']
    """
    ranges = re.match(r"(?:[^,[]|\[[^]]*\])+", nodes)
    first = "" if ranges is None else ranges[0]
    return re.sub(r"\[(\w+)[^]]*\]", r"\1", first)


def _tasks_here(environment: Mapping[str, str]) -> int:
    """The tasks of this node, of `SLURM_STEP_TASKS_PER_NODE` such as `2(x3),1`."""
    counts: list[int] = []
    for part in text_of(environment, "SLURM_STEP_TASKS_PER_NODE").split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if found is None:
            raise odd(environment, "SLURM_STEP_TASKS_PER_NODE", "counts such as 2(x3),1")
        counts += [int(found[1])] * int(found[2] or 1)
    return counts[number_of(environment, "SLURM_NODEID", below=len(counts))]


def _port(job: int) -> int:
    """A port that all processes of a job find alike, and jobs in a row find differently."""
    return FIRST_PORT + job % PORTS


def _told(index: int, count: int, how: str, address: str) -> str:
    return f"process {index} of {count}, {how}; process 0 is at {address}"


def _typed_into(launcher: str, count: int) -> str:
    others = plural(count, "process", "processes")
    return f"one process: a notebook or prompt, though {launcher} has {others}"


def _require_address(text: str, option: str) -> None:
    found = re.fullmatch(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):(\d+)", text)
    if found is None or not 0 < int(found[1]) < 65536:
        raise UsageError(
            f"{option} is {text!r}, and an address is HOST:PORT with a port of 1 to 65535"
        )
