"""`senn validate`: every fault of every spec, with file and line, and no training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from senn_cli.errors import SpecError
from senn_cli.words import plural

if TYPE_CHECKING:
    from senn_cli.spec import Spec

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override a value of the spec, such as optimizer.learning_rate=3e-4 or "
        "network.hidden.0=20; the value is YAML. Can be repeated.",
    ),
]
"""The option `--set`, for every command that takes a spec."""


def validate(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC", help="Files of specs or sweeps.")],
    overrides: SetOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON on standard output.")
    ] = False,
) -> None:
    """Check specs, and sweeps of them, and report all their faults at once.

    Nothing is trained, and of data files no more is looked at than their size; `senn data check`
    reads them. The exit code is 2 if a spec is not valid.
    """
    from senn_cli.cli import console
    from senn_cli.spec.describe import printable

    failed: list[tuple[str, SpecError]] = []
    results: list[dict[str, Any]] = []
    for path in specs:
        try:
            summary, warnings = _checked(path, overrides or ())
        except SpecError as error:
            failed.append((path, error))
            errors = _errors(path, error)
            results.append({"spec": path, "valid": False, "errors": errors, "warnings": []})
        else:
            results.append({"spec": path, "valid": True, "errors": [], "warnings": warnings})
            if not as_json:
                console.stdout().print(f"{printable(path)}: valid ({summary})", soft_wrap=True)
                for warning in warnings:
                    typer.echo(f"{printable(path)}: warning: {warning}", err=True)
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=True))
        if failed:
            raise typer.Exit(2)
    elif failed:
        raise _together([error for _, error in failed], len(specs))


def _checked(path: str, overrides: Sequence[str]) -> tuple[str, list[str]]:
    """What a spec or a sweep describes, in a few words, and what is doubtful about it.

    Raises:
      SpecError: it has faults.
    """
    from senn_cli.spec import load_spec
    from senn_cli.sweep.read import is_sweep, read_sweep
    from senn_cli.training.foreseen import doubts, foreseen

    if is_sweep(path):
        from senn_cli.sweep.begin import planned

        found = read_sweep(path, overrides)
        return f"a sweep of {plural(len(planned(found)), 'member')}", []
    spec = load_spec(path, overrides, also=foreseen)
    return _summary(spec), doubts(spec)


def _summary(spec: Spec) -> str:
    from senn_cli.training.foreseen import length_of

    layers = "-".join(map(str, spec.network.hidden)) or "no hidden layer"
    length = length_of(spec)
    return ", ".join(
        (
            spec.data.source,
            f"{spec.network.kind} {layers}",
            spec.optimizer.kind,
            f"policy {spec.expansion.policy}",
            str(spec.training.length()),
            *([] if length is None else [length]),
        )
    )


def _errors(path: str, error: SpecError) -> list[dict[str, Any]]:
    from senn_cli.spec import InvalidSpecError

    if not isinstance(error, InvalidSpecError):
        return [{"path": "", "line": None, "origin": path, "message": error.message}]
    return [
        {
            "path": ".".join(map(str, fault.path)),
            "line": fault.line,
            "origin": fault.origin,
            "message": fault.message,
        }
        for fault in error.faults
    ]


def _together(errors: list[SpecError], specs: int) -> SpecError:
    hints = list(dict.fromkeys(error.hint for error in errors if error.hint is not None))
    title = "Invalid spec" if specs == 1 else f"Invalid: {len(errors)} of {specs} specs"
    return SpecError(
        "\n".join(error.message for error in errors),
        title=title,
        hint="\n".join(hints) or None,
    )
