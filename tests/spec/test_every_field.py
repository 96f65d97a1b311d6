"""No option without effect: under every combination of choices each accepted field changes what is
built from the spec.

A spec is resolved, so that it holds what is accepted under its choices and nothing else; every leaf
in it gets another value; the data set, and everything that `assemble` makes of spec and data, must
differ (tests/described.py). Nothing is compiled and nothing is trained. What no such object shows
stands in `SHOWN` with the test that shows it. A section that is switched off keeps its options for
when it is on again.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pydantic import BaseModel

from senn_cli.data.dataset import Dataset
from senn_cli.data.registry import load_dataset, weighted
from senn_cli.engine import device
from senn_cli.engine.programs import Ledger
from senn_cli.errors import SennError, SpecError
from senn_cli.report.options import is_duration
from senn_cli.runs.names import slug
from senn_cli.spec import Spec, json_schema, parse_spec
from senn_cli.spec.load import from_values
from senn_cli.training import assemble
from senn_cli.training.measure import Measure
from senn_cli.training.saving import store_in
from tests.described import described

TESTS = Path(__file__).parents[1]

SHOWN = {
    "checkpoints.enabled": "training/test_saving.py::test_only_when_asked",
    "checkpoints.growth": "training/test_saving.py::test_growth_is_not_saved_unless_asked",
    "checkpoints.every": "training/test_saving.py::test_every_so_many_minutes",
    "optimizer.preset": "spec/test_load.py::test_presets_fill_in_what_is_not_written",
    "record.landscape": "training/test_recorder.py::"
    "test_a_landscape_before_and_after_every_addition_and_at_the_end",
    "record.boundary": "training/test_recorder.py::"
    "test_boundaries_at_the_start_before_insertions_and_at_the_end",
    "track.tensorboard.enabled": "tracking/test_tensorboard.py::test_rows_events_and_summary",
    "track.tensorboard.directory": "tracking/test_tensorboard.py::"
    "test_runs_that_share_a_directory_have_folders_of_their_own",
    "track.mlflow.enabled": "tracking/test_mlflow.py::test_a_whole_run",
    "track.mlflow.uri": "tracking/test_mlflow.py::test_a_whole_run",
    "track.mlflow.experiment": "tracking/test_mlflow.py::test_another_experiment_is_another_run",
    "track.wandb.enabled": "tracking/test_wandb.py::test_a_whole_run",
    "track.wandb.project": "tracking/test_wandb.py::test_another_project_is_another_run",
    "track.wandb.entity": "tracking/test_wandb.py::test_a_whole_run",
    "track.wandb.mode": "tracking/test_wandb.py::test_the_mode_of_the_environment",
    "training.stop": "training/test_best.py::test_what_a_spec_has_a_run_watch",
    "transfer.head": "training/test_transfer.py::test_a_fresh_head_is_drawn_from_the_seed",
    "transfer.inputs": "training/test_transfer.py::test_another_number_of_inputs",
    "transfer.freeze": "training/test_transfer.py::test_the_names_of_frozen_parts",
    "transfer.optimizer": "training/test_transfer.py::"
    "test_an_optimizers_state_is_kept_where_the_weights_are",
    "transfer.curvature": "training/test_transfer.py::"
    "test_a_curvature_is_kept_where_the_weights_are",
    "data.root": "data/test_cifar.py::test_through_a_spec",
    "data.test_path": "data/test_registry.py::test_a_test_file_takes_the_place_of_a_share",
    "data.labels": "data/test_cifar.py::test_fine_and_coarse_labels",
    "data.classes": "data/test_tiny_imagenet.py::test_some_classes_and_some_images_of_each",
    "data.per_class": "data/test_tiny_imagenet.py::test_some_classes_and_some_images_of_each",
    "data.openml": "data/test_sklearn_sets.py::test_a_set_of_openml",
    "data.version": "data/test_sklearn_sets.py::test_a_version_is_asked_for",
    "data.name": "data/test_huggingface.py::test_a_named_set_with_its_configuration",
    "data.config": "data/test_huggingface.py::test_a_named_set_with_its_configuration",
}
"""Fields that no object built from a spec shows, with the test that shows their effect."""

CHOICES = {"source", "task", "kind", "policy", "proposals", "solver", "method", "accept"}
"""Keys that say which others there are: every value of theirs is a combination of its own."""

FACTORS = ("contrast", "saturation")

GROWTH = {
    "fixed": "none",
    "search": "{proposals: search, prune: CHAIN}",
    "paper": "{accept: paper}",
    "random": "{policy: random, prune: true}",
    "gradient_ascent": "{width: {method: gradient_ascent}, depth: {method: gradient_ascent}}",
    "mala": "{width: {method: mala}, depth: {method: mala}}",
    "dormant": "{proposals: dormant, prune: true, depth: DEPTH}",
    "priced": "{proposals: dormant, price: 0.5, prune: true, depth: DEPTH}",
    "dynamic_node_creation": "{policy: dynamic_node_creation}",
    "net2net": "{policy: net2net, depth: CHAIN}",
    "splitting": "{policy: splitting}",
    "gradmax": "{policy: gradmax}",
    "tiny": "{policy: tiny}",
    "firefly": "{policy: firefly}",
}
OPTIMIZERS = {
    "kfac": "{kind: natural_gradient}",
    "cg": "{solver: cg}",
    "rows": "{solver: rows}",
    "corrected": "{solver: ekfac}",
    "adam": "{kind: adam, schedule: {kind: cosine}}",
    "adamw": "{kind: adamw, schedule: {kind: constant}}",
    "sgd": "{kind: sgd, momentum: 0.5}",
    "rmsprop": "{kind: rmsprop, schedule: {kind: one_cycle}}",
    "lion": "{kind: lion, schedule: wsd}",
    "muon": "{kind: muon}",
}
NETWORKS = {
    "mlp": "{kind: mlp, hidden: [3]}",
    "densenet": "{kind: densenet, blocks: [[2], [2]]}",
}
MORE = {
    "steps": "training: {steps: 40}",
    "minutes": "training: {minutes: 2}\noptimizer: adam",
    "least": "training: {epochs: 1, least_steps: 30}",
    "stop": "training: {stop: train_loss}",
    "rank_one": "curvature: {method: rank_one}",
}

LOSSES = {
    "labels": "data: digits\nloss: cross_entropy",
    "huber": "data: {source: regression, train: 40, test: 20}\nloss: huber",
}


def combinations() -> Iterator[tuple[str, str]]:
    """Every network with every way to grow and every optimizer that go together."""
    for kind, network in NETWORKS.items():
        for growth, expansion in GROWTH.items():
            for optimizer, section in OPTIMIZERS.items():
                expansion = expansion.replace("DEPTH", str(kind == "densenet").lower())
                expansion = expansion.replace("CHAIN", str(kind == "mlp").lower())
                text = (
                    f"data: digits\nnetwork: {network}\n"
                    f"expansion: {expansion}\noptimizer: {section}\n"
                )
                if optimizer == "rows":  # which takes small systems alone
                    text += "training: {batch_size: 20}\n"
                try:
                    parse_spec(text)
                except SpecError:
                    continue
                yield f"{kind}-{growth}-{optimizer}", text


COMBINATIONS = dict(combinations())
# What growth is made of does not depend on which of the plain gradients trains.
SECTIONS: dict[str, tuple[str, ...]] = {
    name: ("network", "optimizer", "curvature", "expansion")
    if name.endswith(("kfac", "cg", "adam"))
    else ("optimizer", "curvature")
    for name in COMBINATIONS
}
for _kind, _network in NETWORKS.items():
    for _name, _more in MORE.items():
        if _kind == "densenet" or _name != "rank_one":
            COMBINATIONS[f"{_kind}-{_name}"] = f"data: digits\nnetwork: {_network}\n{_more}\n"
            SECTIONS[f"{_kind}-{_name}"] = ("curvature", "training", "checkpoints")
for _name, _loss in LOSSES.items():
    COMBINATIONS[_name] = f"{_loss}\nnetwork: {NETWORKS['mlp']}\n"
    SECTIONS[_name] = ("loss",)
COMBINATIONS["whole"] = f"data: digits\nnetwork: {NETWORKS['mlp']}\n"
SECTIONS["whole"] = tuple(Spec.model_fields)


@pytest.fixture(scope="module", autouse=True)
def uncompiled() -> Iterator[None]:
    """Nothing of a trainer is computed but its first weights, and nothing is put on a device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jnp, "zeros", np.zeros)
        patch.setattr(jax, "device_put", lambda tree, *where: tree)
        patch.setattr(assemble, "input_spectrum", lambda *args: "spectrum")
        patch.setattr(Measure, "__call__", lambda *args: (1.0, None))
        yield


@cache
def loaded(data: Any, seed: int) -> Dataset:
    return load_dataset(data, seed)


def built(spec: Spec) -> Any:
    """Everything that a spec becomes, described."""
    dataset = weighted(loaded(spec.data, spec.seed), spec.loss.class_weight)
    trainer = assemble.assemble(spec, dataset, Ledger())
    parts = vars(trainer) | {"dataset": None, "train": None, "validation": None, "sample": None}
    arrays = (
        dataset
        if spec.data.source != "digits"
        else (spec.seed, vars(spec.data), dataset.train.weights)
    )
    return described(
        (
            parts,
            arrays,
            store_in(Path("run"), spec.checkpoints, 10),
            device._settings(spec.device, spec.gpu_memory, spec.deterministic),
            slug(spec.name),
            spec.transfer.freeze,
        )
    )


def outcome(spec: Spec) -> Any:
    """What is built, or why nothing can be."""
    try:
        return built(spec)
    except SennError as error:
        return error.message


def leaves(
    section: BaseModel, written: dict[str, Any], path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], BaseModel, str]]:
    """Every leaf that is written, with its section and its name in it."""
    for name, value in written.items():
        inner = getattr(section, name)
        if isinstance(value, dict) and not is_duration(value):
            yield from leaves(inner, value, (*path, name))
        elif isinstance(value, list) and value and isinstance(inner[0], BaseModel):
            for index, item in enumerate(value):
                yield from leaves(inner[index], item, (*path, name, index))
        else:
            yield (*path, name), section, name


def literals(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for inner in get_args(annotation) for value in literals(inner)]


def others(section: BaseModel, name: str, value: Any) -> list[Any]:
    """Values that the field might have instead; not all need be valid."""
    named = [v for v in literals(type(section).model_fields[name].annotation) if v != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value / 2, value * 2, value + 1, value * 64, 0.5, 1, *named]
    if isinstance(value, dict):
        ((unit, length),) = value.items()
        return [{unit: length * 2}, {unit: length / 2}, {"steps": 3}]
    if isinstance(value, list):
        special = {"augment": [["flip"]], "blocks": [[[2], [3]]], "drop": [["b"]]}
        wider = [[v / 2 if v == min(value) else v * 2 for v in value]] if name in FACTORS else []
        return [*wider, *special.get(name, [[7], [*value, 5], ["a"]])]
    text = [f"{value}x", ";", 3, ["a"]] if isinstance(value, str) else []
    plain = [3, 1000, 0.5, {"steps": 3}, [64], [0], ["a"], "train_loss", "other"]
    return [*named, *(plain if value is None else []), *text]


def changed(written: dict[str, Any], path: tuple[Any, ...], value: Any) -> Spec | None:
    """The spec with another value; None where the spec does not take it."""
    whole = copy.deepcopy(written)
    part: Any = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    if path == ("curvature", "damping"):  # which takes the place of the optimizer's
        whole["optimizer"].pop("damping", None)
    try:
        return from_values(whole)
    except SpecError:
        return None


WALKED: set[tuple[str, str]] = set()


def idle(text: str, sections: tuple[str, ...], base: Path | None = None) -> list[str]:
    """The accepted fields in these sections that change nothing."""
    spec = parse_spec(text, base_dir=base)
    written = spec.model_dump(mode="json")
    before, found = outcome(spec), []
    for path, section, name in leaves(spec, written):
        key = ".".join(str(part) for part in path)
        WALKED.add((type(section).__name__, name))
        off = name != "enabled" and getattr(section, "enabled", True) is False
        off |= key == "expansion.depth.enabled" and "depth: false" in text  # an mlp has no buds
        off |= key == "expansion.width.enabled" and "net2net, depth: false" in text  # all it does
        off |= key == "expansion.prune.enabled" and "prune: false" in text  # several maps read one
        if off or path[0] not in sections or name in CHOICES or key in SHOWN:
            continue
        own: Any = written
        for part in path:
            own = own[part]
        specs = (changed(written, path, value) for value in others(section, name, own))
        if not any(outcome(other) != before for other in specs if other is not None):
            found.append(key)
    return found


@pytest.mark.parametrize("name", COMBINATIONS)
def test_every_accepted_field_changes_something(name: str) -> None:
    assert idle(COMBINATIONS[name], SECTIONS[name]) == []


def test_the_same_spec_is_described_alike() -> None:
    """Else a difference would say nothing."""
    for name in ("mlp-search-kfac", "densenet-dormant-muon", "whole"):
        spec = parse_spec(COMBINATIONS[name])
        assert built(spec) == built(parse_spec(COMBINATIONS[name]))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, arrays and folders of images."""
    place, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    rows = [f"{i % 7},{i % 3 if i % 9 else 'NA'},{i * i % 11},{'xy'[i % 2]}" for i in range(60)]
    (place / "t.csv").write_text("\n".join(["a,b,c,label", *rows]) + "\n")
    (place / "r.csv").write_text("\n".join(["a,b,c", *(r.rpartition(",")[0] for r in rows)]) + "\n")
    images = rng.integers(0, 256, (60, 6, 5), dtype=np.uint8)
    np.savez(place / "i.npz", x=images, y=np.arange(60) % 3, other=images // 2, inputx=images)
    lines = (place / "t.csv").read_text().splitlines()
    header, cells = lines[0].split(","), [line.split(",") for line in lines[1:]]
    numbers = [[None if c == "NA" else int(c) for c in row[:3]] for row in cells]
    columns = dict(zip(header, [*zip(*numbers, strict=True), [r[3] for r in cells]], strict=True))
    pq.write_table(
        pa.table({name: list(values) for name, values in columns.items()}), place / "t.pq"
    )
    np.savez(place / "n.npz", x=rng.normal(size=(60, 3)), y=rng.normal(size=60), z=np.ones(60))
    for label in ("cat", "dog"):
        (place / "f" / label).mkdir(parents=True)
        for i in range(15):
            pixels = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / "f" / label / f"{i}.png")
    return place


SOURCES = {
    "digits": "digits",
    "augmented": "{source: digits, augment: [flip, pad, rotate, scale, crop, "
    "{kind: some, share: 0.5, apply: [flip]}]}",
    "moons": "{source: moons, train: 40, test: 20}",
    "regression": "{source: regression, train: 40, test: 20, noise: 0.1}",
    "csv": "{source: csv, path: t.csv, target: label, missing: mean}",
    "csv-numbers": "{source: csv, path: r.csv, target: c, task: regression, missing: drop}",
    "parquet": "{source: parquet, path: t.pq, target: label, missing: mean}",
    "parquet-numbers": "{source: parquet, path: t.pq, target: a, task: regression, missing: drop}",
    "sklearn": "{source: sklearn, name: linnerud, target: Chins, task: regression}",
    "sklearn-openml": "{source: sklearn, openml: cats, version: 3}",
    "huggingface": "{source: huggingface, path: h, target: c, task: regression, missing: mean}",
    "huggingface-name": "{source: huggingface, name: own/cats, config: small}",
    "npz-images": "{source: npz, path: i.npz, augment: [flip]}",
    "npz-numbers": "{source: npz, path: n.npz, task: regression}",
    "folder": "{source: folder, path: f, augment: [{kind: color, brightness: 0.2}]}",
}
FETCHED = ("sklearn-openml", "huggingface-name")
"""What no test downloads: fields of theirs are in `SHOWN`, or those of the others."""


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in FETCHED])
def test_every_field_of_a_source_changes_something(name: str, files: Path) -> None:
    if name == "huggingface":
        datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
        whole = datasets.Dataset.from_parquet(str(files / "t.pq"), cache_dir=str(files / "cache"))
        datasets.DatasetDict({"train": whole, "more": whole}).save_to_disk(str(files / "h"))
    text = f"data: {SOURCES[name]}\nnetwork: {NETWORKS['mlp']}\nexpansion: none\n"
    assert idle(text, ("data",), files) == []


def test_every_field_of_the_schema_was_walked(files: Path) -> None:
    """Of the published sets the fields are those of every source of images, and in `SHOWN`."""
    published = ("mnist", "fashion_mnist", "cifar10", "cifar100", "tiny_imagenet")
    for text in (
        *COMBINATIONS.values(),
        *(f"data: {source}\nnetwork: mlp\n" for source in (*SOURCES.values(), *published)),
    ):
        spec = parse_spec(text, base_dir=files)
        for _, section, name in leaves(spec, spec.model_dump(mode="json")):
            WALKED.add((type(section).__name__, name))
    schema = json_schema()
    there = {
        (model, name)
        for model, part in {"Spec": schema, **schema["$defs"]}.items()
        for name, field in part.get("properties", {}).items()
        if not sections_in(schema, field)
    }
    there -= {("Duration", unit) for unit in ("steps", "epochs", "minutes")}
    assert sorted(there - WALKED) == []
    assert len(there) > 250


def sections_in(schema: dict[str, Any], field: Any) -> bool:
    """Whether a property of the JSON schema is a section, whose own properties count."""
    if isinstance(field, list):
        return any(sections_in(schema, inner) for inner in field)
    if not isinstance(field, dict):
        return False
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2] != "Duration"
    within = ("anyOf", "oneOf", "allOf", "items", "prefixItems")
    return any(sections_in(schema, field.get(key)) for key in within)


@pytest.mark.parametrize("key", SHOWN)
def test_the_tests_that_show_the_rest_exist(key: str) -> None:
    file, _, name = SHOWN[key].partition("::")
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
