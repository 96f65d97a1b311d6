from __future__ import annotations

import pytest

from senn_cli.cluster.detect import Processes, detect, first_host
from senn_cli.errors import UsageError

# What a job script and its tasks have under Slurm 22.05.
JOB = {"SLURM_JOB_ID": "17", "SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
STEP = JOB | {
    "SLURM_STEP_ID": "2",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "gpu[07-08]",
    "SLURM_STEP_TASKS_PER_NODE": "3,1",
    "SLURM_NODEID": "0",
    "SLURM_LOCALID": "2",
    "SLURM_PROCID": "2",
}
MPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
}


def test_nothing_of_a_launcher() -> None:
    assert detect({"PATH": "/bin"}) == Processes()
    assert not Processes().several


def test_a_task_of_slurm() -> None:
    found = detect(STEP)
    # 61440 + (17 + 61 * 2) % 4096
    assert (found.count, found.index, found.coordinator) == (4, 2, "gpu07:61579")
    assert (found.local_count, found.local_index) == (3, 2)
    assert found.several
    assert found.words == ("process 2 of 4, of Slurm's step 17.2; process 0 is at gpu07:61579")


def test_all_tasks_of_a_step_find_the_same_process_0() -> None:
    other = {"SLURM_PROCID": "3", "SLURM_LOCALID": "0", "SLURM_NODEID": "1"}
    assert detect(STEP | other).coordinator == detect(STEP).coordinator
    assert detect(STEP | other).local_count == 1


def test_steps_and_jobs_that_run_side_by_side_have_ports_of_their_own() -> None:
    environments = [
        STEP | {"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)}
        for job in range(17, 17 + 61)
        for step in range(60)
    ]
    addresses = {detect(environment).coordinator for environment in environments}
    assert len(addresses) == 61 * 60
    ports = [int(address.rpartition(":")[2]) for address in addresses]
    assert 61440 <= min(ports) <= max(ports) < 65536


@pytest.mark.parametrize(
    ("environment", "interactive", "words"),
    [
        (JOB, False, "one process: in Slurm's job 17, but not under srun, though the job has 4"),
        (STEP | {"SLURM_STEP_NUM_TASKS": "1"}, False, "one process: Slurm's step 17.2 has one"),
        (STEP, True, "one process: a notebook or prompt, though Slurm's step 17.2 has 4 processes"),
        (MPI, True, "one process: a notebook or prompt, though Open MPI has 4 processes"),
        (MPI | {"OMPI_COMM_WORLD_SIZE": "1"}, False, "one process: Open MPI has started no other"),
    ],
    ids=["batch-script", "one-task", "notebook-of-slurm", "notebook-of-mpi", "one-of-mpi"],
)
def test_one_process_beside_a_launcher_and_why(
    environment: dict[str, str], interactive: bool, words: str
) -> None:
    found = detect(environment, interactive=interactive)
    assert (found.count, found.index, found.coordinator) == (1, 0, "")
    assert found.words.startswith(words)


def test_a_process_of_open_mpi() -> None:
    found = detect(MPI)
    host, _, port = found.coordinator.rpartition(":")
    assert (found.count, found.index, host) == (4, 3, "10.96.0.1")
    assert (found.local_count, found.local_index) == (2, 1)
    assert 61440 <= int(port) < 65536
    later = MPI | {"OMPI_MCA_orte_hnp_uri": MPI["OMPI_MCA_orte_hnp_uri"].replace("1531", "1532")}
    assert detect(later).coordinator.startswith("10.96.0.1:")
    assert detect(later).coordinator != found.coordinator


def test_open_mpi_over_ipv6() -> None:
    uri = {"OMPI_MCA_orte_hnp_uri": "1314521088.0;tcp6://[fe80::b9b,2620:10d::2]:43370"}
    assert detect(MPI | uri).coordinator.startswith("[fe80::b9b]:")


def test_open_mpi_on_one_machine_needs_no_address() -> None:
    here = {name: value for name, value in MPI.items() if "uri" not in name}
    found = detect(here | {"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "3"})
    assert found.coordinator.startswith("127.0.0.1:")
    with pytest.raises(UsageError, match="not told the address") as fault:
        detect(here)
    assert "--coordinator HOST:PORT" in str(fault.value.hint)
    assert detect(here, coordinator="node1:6000").coordinator == "node1:6000"


def test_open_mpi_goes_before_slurm() -> None:
    # Its daemons are tasks of Slurm, and pass Slurm's numbers on.
    assert detect(STEP | MPI).index == 3


def test_options_go_before_all_else() -> None:
    found = detect(STEP | MPI, hosts=2, host_id=1, coordinator="[::1]:5000")
    assert (found.count, found.index, found.coordinator) == (2, 1, "[::1]:5000")
    assert found.words == "process 1 of 2, as the options say; process 0 is at [::1]:5000"
    assert detect(STEP, hosts=1) == Processes(words="one process, as --hosts says")


def test_a_coordinator_alone_replaces_that_of_the_launcher() -> None:
    assert detect(STEP, coordinator="10.0.0.1:7000").coordinator == "10.0.0.1:7000"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hosts": 2}, "without --host-id and --coordinator"),
        ({"host_id": 1, "coordinator": "a:1"}, "without --hosts the"),
        ({"hosts": 2, "host_id": 2, "coordinator": "a:1"}, "--host-id is 2, .* one of 0 to 1"),
        ({"hosts": 1, "host_id": 1, "coordinator": "a:1"}, "--host-id is 1, .* one of 0 to 0"),
        ({"hosts": 0}, "--hosts is 0"),
        ({"hosts": 2, "host_id": 0, "coordinator": "a"}, "--coordinator is 'a'"),
        ({"hosts": 2, "host_id": 0, "coordinator": "a:65536"}, "--coordinator is 'a:65536'"),
        ({"coordinator": "a:1"}, "nothing says how many"),
    ],
    ids=["two", "no-hosts", "id", "id-of-one", "none", "no-port", "high-port", "alone"],
)
def test_options_that_do_not_go_together(options: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        detect({}, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"SLURM_PROCID": "4"}, "SLURM_PROCID is '4' .* a number from 0 below 4"),
        ({"SLURM_PROCID": "x"}, "SLURM_PROCID is 'x'"),
        ({"SLURM_STEP_NODELIST": ""}, "SLURM_STEP_NODELIST is ''"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(3)"}, "counts such as"),
        ({"SLURM_NODEID": "2"}, "SLURM_NODEID is '2' .* below 2"),
    ],
    ids=["index", "word", "nodes", "counts", "node"],
)
def test_variables_that_no_launcher_sets_like_this(change: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        detect(STEP | change)


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("vm", "vm"),
        ("a,b[1-2]", "a"),
        ("node[001-015],host2", "node001"),
        ("node[7,1-3]", "node7"),
        ("rack[1-2]n[03-04],x", "rack1n03"),
        ("gpu-1.site.org", "gpu-1.site.org"),
    ],
)
def test_the_first_of_a_list_of_nodes(nodes: str, first: str) -> None:
    assert first_host(nodes) == first
