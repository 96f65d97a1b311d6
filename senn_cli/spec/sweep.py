"""The language of sweeps: a YAML file that says which specs are trained, and where in it that is.

```yaml
spec: quickstart.yaml                      # relative to this file
set: {training.epochs: 10}                 # in all members
grid: {expansion.threshold: [1e-2, 1e-3]}  # every one with every other
zip: {optimizer.kind: [adam, sgd], optimizer.learning_rate: [1e-3, 1e-1]}   # side by side
list: [{expansion: none}, {expansion.policy: random}]                       # one by one
draw: {count: 16, options: {optimizer.learning_rate: {low: 1e-4, high: 1e-1, scale: log}}}
seeds: 5                                   # or [0, 3, 7]
controls: [static]                         # made from every member that grows
origin: pretrained.yaml                    # trained first; the members start from its network
```
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.base import LARGEST, Count, Integral, Listed, Model, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.found import Found

Control = Literal["static", "static_same_compute", "random_growth", "width_only", "depth_only"]
"""What can be made from a run that has grown, to compare it with."""

_MOST_SEEDS = 10_000
_Seed = Annotated[int, Field(ge=0, lt=2**32), Integral]


def _seeds(value: Any) -> Any:
    if isinstance(value, list):
        if not value:
            raise fault("should name at least one seed, found an empty list")
        if len(set(map(repr, value))) < len(value):
            raise fault("should name every seed once")
        return tuple(value)
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if type(whole) is not int or not 1 <= whole <= _MOST_SEEDS:
        raise fault(
            f"should be a number of seeds from 1 to {_MOST_SEEDS} or a list of seeds, found "
            f"{describe(value)}"
        )
    return tuple(range(whole))


def _choices(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise fault(f"should be a list of values to try, found {describe(value)}")
    return tuple(value)


_Choices = Annotated[tuple[Any, ...], BeforeValidator(_choices)]
Seeds = Annotated[tuple[_Seed, ...], BeforeValidator(_seeds)]
"""Seeds, written as a list or as how many."""


class RangeSpec(Model):
    """Where the values of an option are drawn from: between two numbers, or from a list."""

    low: float | int | None = Field(default=None, description="The least value.")
    high: float | int | None = Field(default=None, description="The greatest value.")
    scale: Literal["linear", "log"] = Field(
        default="linear", description="What is drawn evenly: the value, or its logarithm."
    )
    whole: bool = Field(default=False, description="Whole numbers alone, both ends included.")
    choices: _Choices | None = Field(default=None, description="Values, all equally likely.")

    @model_validator(mode="after")
    def _of_one_form(self) -> "RangeSpec":
        if self.choices is not None:
            given = self.model_fields_set - {"choices"}
            if given:
                raise fault(f"should have choices alone, or low and high; found {min(given)}, too")
        elif self.low is None or self.high is None:
            raise fault("should have low and high, or choices")
        elif not self.low < self.high:
            raise fault(f"should have low below high, found {self.low:g} and {self.high:g}")
        elif self.scale == "log" and self.low <= 0:
            raise fault(f"should have low above 0 for a log scale, found {self.low:g}")
        elif self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise fault("should have whole low and high where whole numbers are drawn")
        return self


_Ranges = Annotated[dict[str, RangeSpec], Field(min_length=1)]


class DrawSpec(Model):
    """Settings that are drawn."""

    kind: Literal["sobol", "random"] = Field(
        default="sobol",
        description="`sobol` fills the space evenly, `random` draws independently.",
    )
    count: Annotated[int, Field(ge=1, le=_MOST_SEEDS), Integral] = Field(
        description="How many settings are drawn."
    )
    seed: _Seed = Field(default=0, description="Of the draws.")
    options: _Ranges = Field(description="Options of the spec, each with its range.")


class SearchSpec(Model):
    """Settings that Optuna proposes one after the other, from what came of those before."""

    optuna: Count = Field(description="How many settings are tried.")
    options: _Ranges = Field(description="Options of the spec, each with its range.")
    metric: Literal["validation_loss", "validation_accuracy", "validation_mse"] = Field(
        default="validation_loss", description="What makes a setting good, at its end."
    )
    sampler: Literal["tpe", "random"] = Field(
        default="tpe", description="How settings are proposed."
    )
    seed: _Seed = Field(default=0, description="Of the proposals.")
    prune: Literal["median", "none"] = Field(
        default="median",
        description="Whether a run is stopped whose validation is behind the median of those "
        "before it at the same step.",
    )


_Options = dict[str, Any]


class SweepSpec(Model):
    """A sweep: a spec, and what is varied in it."""

    spec: str = Field(description="The spec file, relative to the sweep's.")
    name: Annotated[str, Field(min_length=1, max_length=80)] | None = Field(
        default=None, description="Of the folder; by default the file's name without its ending."
    )
    set: _Options = Field(default={}, description="Options in all members, by their dotted names.")
    grid: dict[str, _Choices] = Field(
        default={}, description="Values by option; every one is combined with every other."
    )
    zip: dict[str, _Choices] = Field(
        default={}, description="Values by option, as many of each, which go together in turn."
    )
    list: Annotated[tuple[_Options, ...], Listed] = Field(
        default=(), description="Settings one by one, each with its options."
    )
    draw: DrawSpec | None = Field(default=None, description="Settings that are drawn.")
    seeds: Seeds = Field(
        default=(0,), description="Every setting is trained with each: a list, or how many."
    )
    controls: Annotated[tuple[Control, ...], Listed] = Field(
        default=(), description="What is made from every run that has grown, to compare it with."
    )
    origin: str | None = Field(
        default=None,
        description="A spec file, relative to the sweep's, which is trained first; all members "
        "start from its network, as by `senn transfer`.",
    )
    search: SearchSpec | None = Field(default=None, description="Settings that Optuna proposes.")


def contradictions(sweep: SweepSpec) -> list[Found]:
    """What is wrong between the parts of a sweep, each of which is valid by itself."""
    found = []
    lengths = {option: len(values) for option, values in sweep.zip.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{option} has {length}" for option, length in lengths.items())
        found.append(Found(("zip",), f"should have as many values of each option, but {told}"))
    if len(set(sweep.controls)) < len(sweep.controls):
        found.append(Found(("controls",), "should name every control once"))
    if sweep.search is not None:
        for name in ("grid", "zip", "list", "draw", "controls", "origin"):
            if getattr(sweep, name):
                told = "should be left out beside search, which proposes the settings"
                if name in ("controls", "origin"):
                    told = "should be left out beside search; sweep its best setting with it"
                found.append(Found((name,), told))
        if len(sweep.seeds) > 1:
            found.append(Found(("seeds",), "should be one seed beside search, such as [0]"))
    return found


MOST_MEMBERS = min(LARGEST, 10_000)
"""Runs in one sweep."""
