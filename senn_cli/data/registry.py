"""`load_dataset`: from the `data` section of a spec to a data set ready for training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from senn_cli.data import normalize
from senn_cli.data.dataset import Array, Dataset, Part
from senn_cli.data.encoding import Encoding, fit
from senn_cli.data.sources import load_source
from senn_cli.data.split import choose_subset, hold_out
from senn_cli.data.targets import require_few_classes
from senn_cli.errors import DataError
from senn_cli.spec import Spec
from senn_cli.spec.augment import ColorSpec, walk
from senn_cli.spec.data import DataSpec, augmentation
from senn_cli.spec.share import count_of
from senn_cli.spec.sources import Divided, OwnFiles, Targeted
from senn_cli.spec.tables import TableSpec

# Drawn at unit scale already: scaling them by a small sample's statistics would only add noise.
_UNIT_SCALE = ("moons", "regression")


def load(spec: Spec, encoding: Encoding | None = None) -> Dataset:
    """The data of a whole spec, as its loss wants them; `encoding` as for `load_dataset`.

    Raises:
      DataError: as `load_dataset`, or targets that are no counts where the loss is of counts.
    """
    dataset = load_dataset(spec.data, spec.seed, encoding)
    if spec.loss.kind == "poisson":
        dataset = counted(dataset)
    return weighted(dataset, spec.loss.class_weight)


def weighted(dataset: Dataset, classes: str | Mapping[str, float] | None) -> Dataset:
    """The data set whose training examples count by themselves and by their class, 1 on average.

    Args:
      classes: as `loss.class_weight`; balanced, every class weighs N / (classes x its examples).

    Raises:
      DataError: a name that no class has, or examples of which none counts.
    """
    train, own = dataset.train, dataset.train.weights
    if classes is None and own is None:
        return dataset
    weights = np.ones(len(train)) if own is None else own.astype(np.float64)
    if classes is not None:
        if classes == "balanced":
            sizes = np.bincount(train.y, minlength=len(dataset.classes))
            each = len(train) / (len(dataset.classes) * np.maximum(sizes, 1))
        else:
            assert isinstance(classes, Mapping)
            for name in classes:
                if name not in dataset.classes:
                    raise DataError(
                        f"loss.class_weight names {name!r}, which is no class of the data",
                        hint=f"The classes are {', '.join(dataset.classes[:20])}"
                        + (", ..." if len(dataset.classes) > 20 else "."),
                    )
            each = np.array([classes.get(name, 1.0) for name in dataset.classes])
        weights = weights * each[train.y]
    if not weights.sum() > 0:
        raise DataError("no training example counts: all their weights are 0")
    weights = (weights / weights.mean()).astype(np.float32)
    return replace(dataset, train=replace(train, weights=weights))


def counted(dataset: Dataset) -> Dataset:
    """The data set with its targets as counts, which are not scaled.

    Raises:
      DataError: a negative target.
    """
    notes = dataset.notes
    for name, part in dataset.parts.items():
        bad = np.argwhere(part.y < 0)
        if len(bad):
            row, column = (int(number) for number in bad[0])
            raise DataError(
                f"{name}, row {part.ids[row]}: target {column + 1} is {part.y[row, column]:g}, but "
                "loss: poisson is of counts, which are not negative",
                hint="Take another loss (squared, huber, mae), or other targets.",
            )
        if (part.y != np.round(part.y)).any():
            notes = (*notes, f"{name}: not all targets are whole numbers, as counts are")
    shift, scale = np.zeros_like(dataset.target_shift), np.ones_like(dataset.target_scale)
    return replace(dataset, target_shift=shift, target_scale=scale, notes=notes, counts=True)


def load_dataset(spec: DataSpec, seed: int, encoding: Encoding | None = None) -> Dataset:
    """Loads a source, splits it and fits the scaling on the training part.

    The order is fixed: where the source has no test part, one is held out (a share is of all rows;
    of 0 it is empty);
    then the validation part (a share of what is left, or the source's own); then the subset is
    chosen from what remains to train on; then the scaling is fitted on that. So the validation and
    test parts are the same for every size of subset. Each step draws from its own function of the
    seed.

    Args:
      spec: the `data` section; its paths are absolute.
      seed: the spec's seed.
      encoding: of a run: a table is read as the run's was, and nothing is fitted but the scaling.

    Raises:
      DataError: data that are missing, damaged, or too few for the parts asked for.
    """
    source = load_source(spec, seed, encoding)
    require_few_classes(len(source.classes), f"data.source {spec.source}: the target")
    stratify = source.task == "classification"

    def labels(part: Part) -> Array | None:
        return part.y if stratify else None

    train, test = source.train, source.test
    share = spec.test if isinstance(spec, Divided) else 0
    if test is None:
        count = count_of(share, len(train))
        if count > 0:
            stay, held = hold_out(len(train), count, labels(train), seed=seed, purpose="test")
            train, test = train.take(stay), train.take(held)
        else:
            test = train.take(np.arange(0))
    elif share != 0 and isinstance(spec, OwnFiles):
        raise DataError(
            f"data.test is {share}, but data.test_path names a test part already",
            hint="leave one of them out",
        )

    validation = source.validation if spec.validation != 0 else None
    count = count_of(spec.validation, len(train))
    if count > 0 and validation is None:
        stay, held = hold_out(len(train), count, labels(train), seed=seed, purpose="validation")
        train, validation = train.take(stay), train.take(held)

    if spec.subset is not None:
        count = count_of(spec.subset, len(train))
        train = train.take(choose_subset(len(train), count, labels(train), seed=seed))

    notes = source.notes
    if isinstance(spec, TableSpec) and source.encoding is not None:
        encoding = encoding or fit(source.encoding, train.x, spec.fill)
        parts = {"train": train, "validation": validation, "test": test}
        encoded, more = _encode(source.encoding, encoding, parts)
        train, validation, test = encoded["train"], encoded.get("validation"), encoded["test"]
        notes = (*notes, *more)
    else:
        encoding = None

    _require_images(spec, train)
    method = "none" if spec.normalize == "auto" and spec.source in _UNIT_SCALE else spec.normalize
    shift, scale = normalize.fit(method, train.x)
    if encoding is not None and shift.size > 1:
        # A category is 0 or 1 as it is: scaled, the 1 of a rare one would become large.
        shift = np.where(encoding.one_hot, 0.0, shift)
        scale = np.where(encoding.one_hot, 1.0, scale)
    if train.x.dtype == np.float64:
        _require_float32({"train": train, "test": test}, shift, scale, encoding)
    target_shift, target_scale = np.zeros(1, np.float32), np.ones(1, np.float32)
    if source.task == "regression":
        if isinstance(spec, Targeted) and spec.normalize_targets:
            target_shift, target_scale = normalize.standardise(train.y)
        else:
            outputs, wide = train.y.shape[1], normalize.kind(train.y)
            target_shift, target_scale = np.zeros(outputs, wide), np.ones(outputs, wide)
    return Dataset(
        name=source.name,
        task=source.task,
        train=train,
        validation=validation,
        test=test,
        classes=source.classes,
        shift=shift,
        scale=scale,
        target_shift=target_shift,
        target_scale=target_scale,
        notes=notes,
        encoding=encoding,
    )


def _encode(
    found: Encoding, encoding: Encoding, parts: dict[str, Part | None]
) -> tuple[dict[str, Part], list[str]]:
    """The parts as inputs without gaps, and notes on categories that training does not know."""
    encoded, notes = {}, []
    for name, part in parts.items():
        if part is None:
            continue
        notes += [f"{name}: {note}" for note in encoding.unknown(found.features, part.x)]
        x = encoding.filled(encoding.encode(found.features, part.x))
        encoded[name] = replace(part, x=x)
    return encoded, notes


def _require_float32(
    parts: dict[str, Part], shift: Array, scale: Array, encoding: Encoding | None
) -> None:
    """Refuses inputs that are too large for the network, which computes in float32."""
    largest = float(np.finfo(np.float32).max)
    for name, part in parts.items():
        bad = np.argwhere(np.abs((part.x - shift) * scale) > largest)
        if len(bad):
            row, place = (int(number) for number in bad[0])
            column = place + 1 if encoding is None else repr(encoding.inputs[place])
            raise DataError(
                f"{name}: column {column} holds {part.x[row, place]:g}, which is too large for "
                "float32 after scaling",
                hint="set data.normalize: per_feature",
            )


def _require_images(spec: DataSpec, train: Part) -> None:
    """Refuses `data.augment` for arrays that are no images, or not with the colors it changes."""
    steps = augmentation(spec)
    shape = train.x.shape[1:]
    if steps and len(shape) not in (2, 3):
        raise DataError(
            f"data.augment needs images, but one example has the shape {shape}, not (height, "
            "width) or (height, width, channels)"
        )
    channels = shape[2] if len(shape) == 3 else 1
    if any(isinstance(step, ColorSpec) for _, step in walk(steps)):
        if train.x.dtype != np.uint8:
            raise DataError(
                f"data.augment changes colors, which needs 8-bit images from 0 to 255, but the "
                f"inputs are {train.x.dtype}",
                hint="store them as uint8, or leave the color step out",
            )
        if channels not in (1, 3):
            raise DataError(
                "data.augment changes colors, which needs 1 or 3 channels, but there are "
                f"{channels}"
            )
