"""Which source a spec names: a line for each."""

from __future__ import annotations

from senn_cli.data import (
    cifar,
    digits,
    folder,
    huggingface,
    mnist,
    moons,
    npz,
    regression,
    tabular,
    tiny_imagenet,
)
from senn_cli.data.dataset import Source
from senn_cli.data.encoding import Encoding
from senn_cli.spec.data import DataSpec


def load_source(spec: DataSpec, seed: int, encoding: Encoding | None = None) -> Source:
    """Loads what a source delivers, before splitting (only drawn sources depend on the seed).

    Args:
      spec: the `data` section.
      seed: the spec's seed.
      encoding: of a run whose columns are read from a table.
    """
    match spec.source:
        case "digits":
            return digits.load()
        case "moons":
            return moons.load(spec.train, spec.test, spec.noise, seed=seed)
        case "regression":
            return regression.load(spec.train, spec.test, spec.noise, spec.hidden, seed=seed)
        case "mnist" | "fashion_mnist":
            return mnist.load(spec.source, spec.root)
        case "cifar10":
            return cifar.load_cifar10(spec.root, spec.size, spec.channels)
        case "cifar100":
            return cifar.load_cifar100(spec.root, spec.size, spec.channels, spec.labels)
        case "tiny_imagenet":
            return tiny_imagenet.load(
                spec.root, spec.classes, spec.per_class, spec.size, spec.channels
            )
        case "folder":
            return folder.load(spec.path, spec.size, spec.channels)
        case "npz":
            return npz.load(
                spec.path, spec.test_path, spec.inputs, spec.targets, spec.task, spec.weights
            )
        case "csv" | "parquet" | "sklearn":
            return tabular.load(spec, encoding)
        case "huggingface":
            return huggingface.load(spec, encoding)
