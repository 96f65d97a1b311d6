"""JAX's settings belong to a process, so each test starts one of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import LIMIT

PRELUDE = """
import os
from senn_cli.errors import DeviceError
from senn_cli.engine.device import choose_device
def refused(*arguments, **named):
    try:
        choose_device(*arguments, **named)
    except DeviceError as error:
        print(error.exit_code, error.message, "|", error.hint)
    else:
        print("accepted")
"""


def run(script: str, **variables: str | None) -> tuple[list[str], str]:
    """Runs a script after `PRELUDE`; returns the lines of its output, and its errors."""
    environment = {**os.environ, **{k: v for k, v in variables.items() if v is not None}}
    for name, value in variables.items():
        if value is None:
            environment.pop(name, None)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + script],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines(), result.stderr


def test_the_cpu_in_words_and_compiled_programs_are_kept(tmp_path: Path) -> None:
    script = """
print(choose_device("cpu"))
import jax
print(jax.jit(lambda x: x + 1)(1))
print(jax.default_backend(), os.environ["JAX_PLATFORMS"])
"""
    output, errors = run(script, SENN_CACHE_DIR=str(tmp_path), JAX_PLATFORMS=None)
    assert re.fullmatch(r"CPU \(\d+ cores?\)", output[0])
    assert output[1:] == ["2", "cpu cpu"]
    assert errors == ""
    first = set((tmp_path / "jax").iterdir())
    assert any(path.name.startswith("jit") for path in first)
    # The second process finds the program of the first and adds none.
    run(script, SENN_CACHE_DIR=str(tmp_path), JAX_PLATFORMS=None)
    assert {p.name for p in (tmp_path / "jax").iterdir() if p.name.endswith("-cache")} == {
        p.name for p in first if p.name.endswith("-cache")
    }


def test_importing_the_module_imports_no_jax() -> None:
    output, _ = run("import sys; print('jax' in sys.modules)")
    assert output == ["False"]


def test_the_environment_is_set_before_jax_starts() -> None:
    script = """
import sys
choose_device("auto", gpu_memory=0.25, deterministic=True)
print(os.environ["XLA_CLIENT_MEM_FRACTION"], os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION"))
print(os.environ["XLA_FLAGS"])
import jax
print(jax.device_count())
"""
    output, _ = run(
        script,
        XLA_FLAGS="--xla_force_host_platform_device_count=3",
        XLA_PYTHON_CLIENT_MEM_FRACTION="0.9",
    )
    assert output == [
        "0.25 None",
        "--xla_force_host_platform_device_count=3 --xla_gpu_deterministic_ops=true",
        "3",
    ]


def test_nothing_is_set_that_nobody_asked_for() -> None:
    script = """
before = dict(os.environ)
choose_device()
for name in ("JAX_PLATFORMS", "XLA_FLAGS", "XLA_CLIENT_MEM_FRACTION"):
    assert os.environ.get(name) == before.get(name), name
"""
    run(script)


@pytest.mark.parametrize("platforms", [None, "cpu", "cuda"])
def test_a_gpu_that_is_not_there_is_an_error_with_the_way_to_install_it(
    platforms: str | None,
) -> None:
    # Hides a GPU that this machine may have.
    output, _ = run("refused('gpu')", JAX_PLATFORMS=platforms, CUDA_VISIBLE_DEVICES="")
    noted = f" (the environment has JAX_PLATFORMS={platforms})" if platforms else ""
    assert output == [
        f"2 device: gpu was asked for, but JAX finds none{noted}. | "
        "Install JAX for your GPU: pip install 'senn-cli[cuda13]'"
    ]


def test_a_jax_that_cannot_start_is_an_error() -> None:
    output, _ = run("refused('auto')", JAX_PLATFORMS="nonsense")
    assert output[0].startswith("2 JAX finds no device (the environment has JAX_PLATFORMS=nonsense")
    assert output[0].endswith("| See what is installed with: senn doctor")


def test_it_may_be_called_again() -> None:
    script = """
assert choose_device("cpu") == choose_device("cpu") == choose_device("auto")
# On a CPU these two change nothing, so they cannot come too late.
refused("auto", deterministic=True)
refused("auto", gpu_memory=0.5)
"""
    assert run(script)[0] == ["accepted", "accepted"]


def test_jax_may_be_imported_before_but_must_not_have_started() -> None:
    script = """
import jax
from senn_cli.engine.device import _jax_has_started
print(_jax_has_started())
choose_device("cpu")
print(_jax_has_started(), jax.default_backend())
"""
    assert run(script, JAX_PLATFORMS=None)[0] == ["False", "True cpu"]


FAKE_GPU = """
import jax
jax.devices()
import types
import senn_cli.engine.device as module
gpu = types.SimpleNamespace(platform="gpu", device_kind="NVIDIA H100")
module._first_device = lambda device: gpu
"""


def test_settings_that_come_too_late_for_a_gpu_are_refused_each_time() -> None:
    script = """
print(choose_device("auto"))
for _ in range(2):
    refused("gpu", deterministic=True)
refused("gpu", gpu_memory=0.5)
refused("cpu")
"""
    hint = "| Start a new process, or train before anything else uses JAX."
    flag = "--xla_gpu_deterministic_ops=true"
    output, _ = run(FAKE_GPU + script, XLA_FLAGS=None)
    assert output == [
        "NVIDIA H100 (gpu)",
        *[f"2 JAX has already started without XLA_FLAGS={flag}. {hint}"] * 2,
        f"2 JAX has already started without XLA_CLIENT_MEM_FRACTION=0.5. {hint}",
        f"2 device: cpu was asked for, but JAX already runs on NVIDIA H100. {hint}",
    ]


def test_settings_that_jax_started_with_are_accepted() -> None:
    script = "choose_device('auto', gpu_memory=0.5, deterministic=True)\n" + FAKE_GPU
    script += "refused('gpu', gpu_memory=0.5, deterministic=True)"
    assert run(script)[0] == ["accepted"]


def test_without_a_place_for_the_cache_training_goes_on_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    script = """
import jax
print(choose_device("cpu")[:3], jax.config.jax_compilation_cache_dir)
"""
    output, errors = run(script, SENN_CACHE_DIR=str(tmp_path / "file"))
    assert output == ["CPU None"]
    assert errors == (
        "Compiled programs are not kept between runs: "
        f"{tmp_path / 'file'} is not a directory. "
        "Set SENN_CACHE_DIR to a directory that can be written.\n"
    )
