"""The mapping file of `senn import`: which array of a file of weights is which part of a network.

kind: mlp
activation: silu                # or a list, one for each hidden layer
maps:
  - {kernel: fc1.weight, bias: fc1.bias, transpose: true}   # PyTorch's (out, in)
  - {kernel: fc2.weight, bias: fc2.bias, transpose: true}
preprocessing: {shape: [28, 28], dtype: uint8, shift: 33.3, scale: 0.0128}
classes: [no, yes]              # of a network with one output: that is the log-odds of the second

kind: densenet
activation: tanh
pool: mean2s2
image: [32, 32, 3]            # height, width, channels
layout: OIHW                  # PyTorch's; HWIO is Flax's
blocks: [[conv0.weight, conv1.weight], [conv2.weight]]
head: {kernel: fc.weight, bias: fc.bias, transpose: true}
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from senn_cli.nets.architecture import ACTIVATIONS, PLAIN
from senn_cli.spec.base import Count, Listed, Model, fault
from senn_cli.spec.describe import alternatives, describe
from senn_cli.spec.errors import choose
from senn_cli.words import plural

BIASES = (
    "senn's convolutions have no bias: a growing layer is scored by what its kernel reads, and the "
    "head's bias is the only one"
)

WORDS = (*ACTIVATIONS, "sigmoid")
"""Activations of an mlp's mapping; sigmoid(x) = 1/2 + tanh(x/2)/2 is imported as tanh."""

_Name = Annotated[str, StringConstraints(min_length=1)]
_Real = Annotated[float, Field(strict=False)]


def _numbers(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    if not listed or any(isinstance(v, bool) or not isinstance(v, int | float) for v in listed):
        raise fault(f"should be a number or a list of numbers, found {describe(value)}")
    return tuple(float(v) for v in listed) if isinstance(value, list | tuple) else float(value)


Numbers = Annotated[_Real | tuple[_Real, ...], BeforeValidator(_numbers)]
"""One number for all, or one for each."""


def _no_bias(value: Any) -> Any:
    raise fault(f"should be left out: {BIASES}")


def _activation(value: Any) -> Any:
    words = tuple(value) if isinstance(value, list | tuple) else (value,)
    for word in words:
        if word not in WORDS:
            raise fault(choose(WORDS, word))
    return words if isinstance(value, list | tuple) else value


def _of_convolutions(value: Any) -> Any:
    if value not in PLAIN:
        raise fault(choose(PLAIN, value))
    return value


def _kernel_alone(value: Any) -> Any:
    return {"kernel": value} if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    # YAML reads the names of classes that are digits as numbers.
    if not isinstance(value, list | tuple):
        return value
    return tuple(str(v) if type(v) is int else v for v in value)


class LinearMap(Model):
    """The arrays of one linear map.

    Attributes:
      kernel: name of `(in, out)`, or `(out, in)` where `transpose` says so.
      bias: name of `(out,)`; None for a bias of zero.
      coefficients: name of `(3, out)`, of a rational activation behind the map.
    """

    kernel: _Name
    bias: _Name | None = None
    coefficients: _Name | None = None
    transpose: bool = False


class Head(Model):
    """The arrays of a DenseNet's head, as those of a `LinearMap`."""

    kernel: _Name
    bias: _Name | None = None
    transpose: bool = False


class Convolution(Model):
    """The kernel of a convolution over all that it reads: block input, then layer outputs."""

    kernel: _Name
    bias: Annotated[None, BeforeValidator(_no_bias)] = None


class Feeding(Model):
    """How examples become inputs: (x - shift) * scale.

    Attributes:
      shape: of one example; None for the network's image, or its inputs as a list.
      columns: names of the inputs, where examples are rows of a table.
      dtype: of one example.
      shift, scale: one number, or one for each channel or feature.
    """

    shape: Annotated[tuple[Count, ...], Field(min_length=1), Listed] | None = None
    columns: Annotated[tuple[_Name, ...], BeforeValidator(_texts), Field(min_length=1)] | None = (
        None
    )
    dtype: Literal["uint8", "float32"] = "float32"
    shift: Numbers = 0.0
    scale: Numbers = 1.0


class Targets(Model):
    """How outputs become predictions: output / scale + shift."""

    shift: Numbers = 0.0
    scale: Numbers = 1.0


class _Mapping(Model):
    """What every mapping has.

    Attributes:
      ignore: arrays that the network does not need.
      classes: names of the classes of a softmax, or two where one output is the second's log-odds.
      labels: names of labels each on its own, of logistic outputs.
      targets: how outputs become values.
    """

    ignore: Annotated[tuple[_Name, ...], Listed] = ()
    preprocessing: Feeding | None = None
    classes: Annotated[tuple[_Name, ...], BeforeValidator(_texts), Field(min_length=1)] | None = (
        None
    )
    labels: Annotated[tuple[_Name, ...], BeforeValidator(_texts), Field(min_length=1)] | None = None
    targets: Targets | None = None

    @model_validator(mode="after")
    def _answers(self) -> _Mapping:
        tasks = {"classes": self.classes, "labels": self.labels, "targets": self.targets}
        said = [name for name, value in tasks.items() if value is not None]
        if len(said) > 1:
            what = " and ".join(f"`{name}`" for name in said)
            raise fault(f"{what} exclude each other: a network has one task")
        if self.preprocessing is None and said:
            (what,) = said
            raise fault(
                f"`{what}` needs `preprocessing`, which says how examples become inputs; write "
                "`preprocessing: {}` where they are the inputs"
            )
        for names in (self.classes, self.labels):
            if names is not None and len(set(names)) < len(names):
                raise fault(f"`{said[0]}` should name each once")
        return self


class MlpMapping(_Mapping):
    """Of a fully connected network.

    Attributes:
      maps: from the inputs to the outputs.
      image, flatten: the order in which an image was flattened; senn's is HWC.
    """

    kind: Literal["mlp"]
    activation: Annotated[str | tuple[str, ...] | None, BeforeValidator(_activation)] = None
    maps: Annotated[tuple[LinearMap, ...], Listed, Field(min_length=1)]
    image: Annotated[tuple[Count, Count, Count], Listed] | None = None
    flatten: Literal["HWC", "CHW"] = "HWC"

    @property
    def activations(self) -> tuple[str, ...]:
        """That of every hidden layer."""
        if isinstance(self.activation, tuple):
            return self.activation
        return () if self.activation is None else (self.activation,) * (len(self.maps) - 1)

    @model_validator(mode="after")
    def _coefficients(self) -> MlpMapping:
        hidden = len(self.maps) - 1
        if len(self.activations) != hidden:
            told = f"one for each of {plural(hidden, 'hidden layer')}"
            raise fault(
                f"`activation` is missing, which names of arrays do not tell: {told}, or one for "
                "all by `--activation`: " + alternatives(WORDS)
                if self.activation is None
                else f"`activation` should name {told}, found {len(self.activations)}"
            )
        for index, one in enumerate(self.maps):
            wanted = index < hidden and self.activations[index] == "rational"
            if wanted != (one.coefficients is not None):
                told = "should name" if wanted else "should not name"
                raise fault(
                    f"map {index} {told} `coefficients`: they belong to rational hidden neurons"
                )
        if self.flatten == "CHW" and self.image is None:
            raise fault("`flatten: CHW` needs `image: [height, width, channels]`")
        return self


class DenseNetMapping(_Mapping):
    """Of a DenseNet as `senn_cli.nets.densenet_architecture` describes it.

    Attributes:
      image: height, width, channels.
      layout: of all convolution kernels.
      blocks: a kernel for each layer of each block.
    """

    kind: Literal["densenet"]
    activation: Annotated[str, BeforeValidator(_of_convolutions)]
    image: Annotated[tuple[Count, Count, Count], Listed]
    pool: Literal["max3s2", "max2s2", "mean2s2"]
    layout: Literal["OIHW", "HWIO"]
    blocks: Annotated[
        tuple[
            Annotated[
                tuple[Annotated[Convolution, BeforeValidator(_kernel_alone)], ...],
                Listed,
                Field(min_length=1),
            ],
            ...,
        ],
        Listed,
        Field(min_length=1),
    ]
    head: Head


Mapping = MlpMapping | DenseNetMapping
