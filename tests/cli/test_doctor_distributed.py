from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.doctor_distributed import (
    check_clocks,
    check_devices,
    check_files,
    check_same,
    check_sums,
)
from tests.waiting import LIMIT

NAMED = ["process 0 (a)", "process 1 (b)", "process 2 (c)"]


def test_who_has_other_versions_is_named() -> None:
    mine = {"jax": "0.10.2", "python": "3.11.2"}
    assert check_same("versions", NAMED, [mine] * 3).outcome == "ok"
    found = check_same("versions", NAMED, [mine, mine, mine | {"jax": "0.9.0"}])
    assert found.outcome == "failed"
    assert found.found == "process 2 (c) has jax 0.9.0, process 0 (a) 0.10.2"


def test_clocks_are_apart_where_asking_cannot_explain_it() -> None:
    # Ahead by as much as asking took is no difference.
    near = check_clocks(NAMED, [(0.0, 0.0), (-0.25, 0.002), (3.0, 3.0)])
    assert (near.outcome, near.found) == ("ok", "apart by at most 3.000 s, give or take 3.000 s")
    far = check_clocks(NAMED, [(0.0, 0.0), (-5.0, 0.01), (0.5, 0.01)])
    assert (far.outcome, far.found) == (
        "warning",
        "apart from that of process 0 (a): process 1 (b) by -5.000 s",
    )


def test_who_does_not_see_a_file_is_named() -> None:
    assert check_files(NAMED, "/scratch", ["", "", ""]).outcome == "ok"
    found = check_files(NAMED, "/scratch", ["", "No such file or directory", ""])
    assert found.outcome == "failed"
    assert found.found.endswith("process 1 (b): No such file or directory")


def test_a_process_with_other_devices_is_shown() -> None:
    assert check_devices(NAMED, [["cpu (cpu)"] * 2] * 3).outcome == "ok"
    found = check_devices(NAMED, [["H200 (gpu)"] * 8, ["H200 (gpu)"] * 7, ["H200 (gpu)"] * 8])
    assert found.outcome == "warning"
    assert "process 1 (b): 7 x H200 (gpu)" in found.found


def test_a_wrong_sum_and_a_missing_one_are_failures() -> None:
    assert check_sums(NAMED, 6.0, [6.0] * 3, 0.5).outcome == "ok"
    found = check_sums(NAMED, 6.0, [6.0, 3.0, "Connection refused"], 0.5)
    assert found.outcome == "failed"
    assert found.found.endswith("process 1 (b): 3.0; process 2 (c): Connection refused")


def test_alone_it_says_what_it_has_looked_for() -> None:
    result = CliRunner().invoke(app, ["doctor", "--distributed"], env={"COLUMNS": "400"})
    assert result.exit_code == 2
    for word in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "--hosts", "srun --ntasks=2"):
        assert word in result.stderr
    result = CliRunner().invoke(app, ["doctor", "--hosts", "2"])
    assert result.exit_code == 2
    assert "for --distributed" in " ".join(result.stderr.split())


@pytest.mark.parametrize("shared", [True, False], ids=["one-place", "two-places"])
@pytest.mark.slow
def test_two_processes_check_each_other(shared: bool, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [sys.executable, "-m", "senn_cli", "doctor", "--distributed", "--json", "--hosts", "2"]
    places = [tmp_path / "a", tmp_path / ("a" if shared else "b")]
    for place in places:
        place.mkdir(exist_ok=True)
    # Process 1 cannot see process 0's folder by a path that is its own current directory.
    start = Path("runs") if shared else Path("/proc/self/cwd")
    script = (
        "import sys; from pathlib import Path; import senn_cli.cli.doctor as d; "
        "from senn_cli.cli.app import main; "
        "start = Path(sys.argv.pop(1)); d.Path = lambda _: start; main()"
    )
    words[1:3] = ["-c", script, str(start)]
    both = [
        subprocess.Popen(
            [*words, "--coordinator", address, "--host-id", str(index)],
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"SENN_HOSTS_TIMEOUT": "100"},
        )
        for index, place in enumerate(places)
    ]
    told = [process.communicate(timeout=LIMIT) for process in both]
    assert [process.returncode for process in both] == [0 if shared else 1] * 2, told
    found = json.loads(told[0][0])
    assert told[1][0] == b""
    outcomes = {check["name"]: check["outcome"] for check in found["checks"]}
    assert outcomes == {
        "processes": "ok",
        "versions": "ok",
        "clocks": "ok",
        "shared files": "ok" if shared else "failed",
        "devices": "ok",
        "all-reduce": "ok",
    }
    if not shared:
        (files,) = (check["found"] for check in found["checks"] if check["name"] == "shared files")
        assert f"process 1 ({socket.gethostname()}): No such file or directory" in files
    assert list(places[0].iterdir()) == []
