"""One entry to the benchmarks: `python -m benchmarks` lists them, with a name it runs one.

    python -m benchmarks startup --turns 1

Each is a script that also runs by its path; what comes after the name is for it. As under `senn`,
LAPACK works on one thread unless `OPENBLAS_NUM_THREADS` is set: threads that wait for each other's
turn count as CPU time.
"""

from __future__ import annotations

import ast
import os
import runpy
import sys
from pathlib import Path

from senn_cli.__main__ import THREADS
from senn_cli.errors import SennError

HERE = Path(__file__).parent


def listed() -> dict[str, str]:
    """Every benchmark by its name, with the first line of what it says of itself.

    None is imported: some need packages that may be missing.
    """
    scripts = sorted(path for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    texts = {path.stem: path.read_text(encoding="utf-8") for path in scripts}
    return {
        name: (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
        for name, text in texts.items()
    }


def main() -> None:
    """Lists, or runs the one that is named."""
    found = listed()
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("python -m benchmarks NAME [ARGUMENT ...]\n")
        for name, line in found.items():
            print(f"  {name:{max(map(len, found))}}  {line}")
        return
    name = sys.argv[1]
    if name not in found:
        sys.exit(f"no benchmark is called {name!r}; there are {', '.join(found)}")
    os.environ.setdefault(THREADS, "1")  # before NumPy is imported
    sys.path.insert(0, str(HERE))  # they use one another, as they do by their paths
    sys.argv = [str(HERE / f"{name}.py"), *sys.argv[2:]]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SennError as error:  # such as of data that are not there
        sys.exit("\n".join(filter(None, (error.message, error.hint))))


if __name__ == "__main__":
    main()
