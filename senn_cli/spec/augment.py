"""`data.augment`: random changes of training images, as a list of steps (appendix B: `paper`)."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from senn_cli.spec.base import AlsoAccepts, Listed, Model, Probability, fault
from senn_cli.spec.describe import alternatives, describe
from senn_cli.spec.suggest import closest

_Factor = Annotated[float, Field(gt=0, le=100)]
_FromZero = Annotated[float, Field(ge=0, le=100)]


def _increasing(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise fault(f"should have the smaller factor first, found {value[0]:g} and {value[1]:g}")
    return value


def _two(value: Any) -> Any:
    if isinstance(value, list | tuple) and len(value) != 2:
        raise fault(f"should be two factors, the smallest and the largest, found {describe(value)}")
    return value


_FromTo = Annotated[
    tuple[_FromZero, _FromZero],
    AfterValidator(_increasing),
    Listed,
    BeforeValidator(_two),
]


class FlipSpec(Model):
    """Left and right are exchanged."""

    kind: Literal["flip"] = Field(description="Exchange left and right.")
    probability: Probability = Field(default=0.5, description="Share of images it happens to.")


class PadSpec(Model):
    """A black border all around; a later `crop` cuts the original size out of it."""

    kind: Literal["pad"] = Field(description="Put a black border around the image.")
    to: Annotated[float, Field(ge=1, le=8)] = Field(
        default=2.0, description="Height and width with the border, as a multiple of those before."
    )


class RotateSpec(Model):
    """A turn about the centre by an angle that is uniform in both directions."""

    kind: Literal["rotate"] = Field(description="Turn about the centre.")
    degrees: Annotated[float, Field(ge=0, le=180)] = Field(
        default=20.0, description="Largest angle, in degrees, to either side."
    )
    probability: Probability = Field(default=0.3, description="Share of images it happens to.")


class ScaleSpec(Model):
    """Larger or smaller about the centre, by a uniform factor."""

    kind: Literal["scale"] = Field(description="Enlarge or shrink about the centre.")
    low: _Factor = Field(default=0.8, description="Smallest factor; below 1 shrinks the picture.")
    high: _Factor = Field(default=1.2, description="Largest factor; above 1 enlarges the picture.")
    probability: Probability = Field(default=0.3, description="Share of images it happens to.")

    @model_validator(mode="after")
    def _ordered(self) -> "ScaleSpec":
        if self.low > self.high:
            raise fault(f"should have low at most high, found {self.low:g} and {self.high:g}")
        return self


class CropSpec(Model):
    """A window of the original size at a random place of the padded image: a translation."""

    kind: Literal["crop"] = Field(
        description="Cut the size from before `pad` out again, at a random place."
    )


class ColorSpec(Model):
    """Saturation, contrast and brightness of the pixels as stored, before normalisation."""

    kind: Literal["color"] = Field(description="Change saturation, contrast and brightness.")
    saturation: _FromTo = Field(
        default=(0.8, 1.3),
        description="Factors of the distance of every pixel from its gray, smallest and largest.",
    )
    contrast: _FromTo = Field(
        default=(0.8, 1.3),
        description="Factors of the distance of every pixel from the image's mean, smallest and "
        "largest.",
    )
    brightness: Probability = Field(
        default=0.3, description="Most that is added or taken away, as a share of white (255)."
    )
    probability: Probability = Field(default=0.3, description="Share of images it happens to.")


_SIMPLE: Mapping[str, type[Model]] = MappingProxyType(
    {
        "flip": FlipSpec,
        "pad": PadSpec,
        "rotate": RotateSpec,
        "scale": ScaleSpec,
        "crop": CropSpec,
        "color": ColorSpec,
    }
)


def _built(value: Any, kinds: Mapping[str, type[Model]]) -> Any:
    """The step that a mapping or a name describes; faults stand at their key within the step."""
    if isinstance(value, Model):
        return value
    if isinstance(value, str):
        if value not in kinds:
            raise fault(_choose(value, kinds))
        value = {"kind": value}
    if not isinstance(value, dict):
        raise fault(f"should be a step such as `kind: flip`, found {describe(value)}")
    if "kind" not in value:
        raise fault(f"has no kind; it should be one of {alternatives(kinds)}")
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in kinds:
        raise _at(("kind",), _choose(kind, kinds), kind)
    # A union told apart by `kind` would put the kind into the paths of faults, as if it were a key.
    model = kinds[kind]
    for key in value:
        if key not in model.model_fields:
            own = [name for name in model.model_fields if name != "kind"]
            near = closest(str(key), own)
            what = f"a {kind} step has {', '.join(own) if own else 'no options'}"
            text = f"did you mean {near}?" if near else what
            raise _at((str(key),), f"is unknown; {text}", value[key])
    return model.model_validate(value)


def _choose(found: Any, kinds: Mapping[str, type[Model]]) -> str:
    near = closest(found, kinds) if isinstance(found, str) else None
    text = f"should be one of {alternatives(kinds)}, found {describe(found)}"
    return f"{text}; did you mean {near}?" if near else text


def _at(path: tuple[str | int, ...], message: str, found: Any) -> ValidationError:
    """A fault at a key below the value that is being validated."""
    details = InitErrorDetails(type=fault(message), loc=path, input=found)
    return ValidationError.from_exception_data("step", [details])


def _simple_step(value: Any) -> Any:
    return _built(value, _SIMPLE)


_ByName = AlsoAccepts(enum=list(_SIMPLE), description="A step, its options as by default.")
_Simple = Annotated[
    FlipSpec | PadSpec | RotateSpec | ScaleSpec | CropSpec | ColorSpec,
    BeforeValidator(_simple_step),
    _ByName,
]


class SomeSpec(Model):
    """Steps that a share of the images goes through, all of them or none."""

    kind: Literal["some"] = Field(description="Apply the steps below to some images alone.")
    share: Probability = Field(default=0.5, description="Share of images that they apply to.")
    apply: Annotated[tuple[_Simple, ...], Listed] = Field(
        description="The steps, each with its own probability among these images."
    )


_ALL: Mapping[str, type[Model]] = MappingProxyType({**_SIMPLE, "some": SomeSpec})


def _step(value: Any) -> Any:
    return _built(value, _ALL)


StepSpec = FlipSpec | PadSpec | RotateSpec | ScaleSpec | CropSpec | ColorSpec | SomeSpec
"""One step of `data.augment`."""

AUGMENTATIONS: Mapping[str, tuple[StepSpec, ...]] = MappingProxyType(
    {
        "paper": (
            FlipSpec(kind="flip"),
            SomeSpec(
                kind="some",
                share=0.5,
                apply=(
                    PadSpec(kind="pad", to=2.0),
                    RotateSpec(kind="rotate", degrees=20.0, probability=0.3),
                    ScaleSpec(kind="scale", low=0.8, high=1.2, probability=0.3),
                    CropSpec(kind="crop"),
                    ColorSpec(kind="color", probability=0.3),
                ),
            ),
        ),
    }
)
"""The lists that have a name. `paper`: half of the images are flipped; independently of that, half
go through the paper's other steps (appendix B, which leaves the flip out)."""


def _steps(value: Any) -> Any:
    if value is None:
        return ()
    if isinstance(value, str):
        if value in AUGMENTATIONS:
            return AUGMENTATIONS[value]
        names = alternatives(f"`{name}`" for name in AUGMENTATIONS)
        raise fault(f"should be {names} or a list of steps, found {describe(value)}")
    if isinstance(value, dict):
        raise fault("should be a list of steps, each beginning with `- kind:`, found a mapping")
    return tuple(value) if isinstance(value, list) else value


def walk(steps: tuple[StepSpec, ...]) -> Iterator[tuple[tuple[str | int, ...], StepSpec]]:
    """Every step that changes images, with its path below `data.augment`."""
    for index, step in enumerate(steps):
        if isinstance(step, SomeSpec):
            for inner, simple in enumerate(step.apply):
                yield (index, "apply", inner), simple
        else:
            yield (index,), step


def _arranged(steps: tuple[StepSpec, ...]) -> tuple[StepSpec, ...]:
    """Refuses an order of steps that would leave an image larger than it was."""
    padded: tuple[str | int, ...] | None = None
    for path, step in walk(steps):
        # A group that some images skip must leave their size as it was.
        if padded is not None and padded[:-1] != path[:-1] and step.kind in ("pad", "crop"):
            raise fault("should have a pad and its crop in one list: both in a group, or neither")
        if step.kind == "pad":
            if padded is not None:
                raise fault("should have a crop between two pads")
            padded = path
        elif step.kind == "crop":
            if padded is None:
                raise fault("should have a pad before a crop: there is nothing to cut off")
            padded = None
        elif step.kind == "color" and padded is not None:
            raise fault("should not have color between pad and crop: the border stays black")
    if padded is not None:
        raise fault("should have a crop after a pad, to restore the size")
    return steps


Augment = Annotated[
    tuple[Annotated[StepSpec, BeforeValidator(_step), _ByName], ...],
    AfterValidator(_arranged),
    BeforeValidator(_steps),
    AlsoAccepts(enum=[*AUGMENTATIONS, None], description="The steps of the paper, or none."),
]
"""The value of `data.augment`: a list of steps, or the name of one."""
