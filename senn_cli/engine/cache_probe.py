"""Whether a second process finds in the compilation cache what a first one has compiled.

On some CPUs it never does, and without a word: XLA refuses its own programs for features of the
compiler that the machine does not list (JAX issue 38445). Seconds do not tell, as a run that
compiles beside other work is slow, too; JAX's own events do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

_LIMIT = 300  # seconds, for a machine with other work on it


def second_process_hits() -> bool:
    """Compiles one small program in two processes that share a fresh cache; whether it was reused.

    Raises:
      RuntimeError: a process failed; the text is the last line of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="senn-cache-") as directory:
        _compile(directory)
        return _compile(directory)


def _compile(cache: str) -> bool:
    # A look must not take the GPU's memory from those who use it.
    own = {"SENN_CACHE_DIR": cache, "JAX_TRACEBACK_FILTERING": "off"}
    surroundings = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ, **own}
    command = [sys.executable, "-c", f"from {__name__} import main; main()"]
    try:
        done = subprocess.run(
            command, env=surroundings, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=_LIMIT,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode or done.stdout.strip() not in ("hit", "miss"):
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(said[-1])
    return done.stdout.strip() == "hit"


def main() -> None:
    """Compiles the program in this process and prints `hit` or `miss`."""
    import jax
    import jax.numpy as jnp

    from senn_cli.engine.compilation import compiled
    from senn_cli.engine.device import enable_compilation_cache

    enable_compilation_cache()
    program = jax.jit(lambda x: jnp.tanh(x @ x.T).sum())
    _, hit = compiled(program.lower(jax.ShapeDtypeStruct((64, 64), jnp.float32)))
    print("hit" if hit else "miss")
