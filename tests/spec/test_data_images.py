"""Options of the image sources: sizes, channels, classes, scaling a channel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from senn_cli.spec import InvalidSpecError, dump_spec, parse_spec

SOURCES = ["cifar10", "cifar100", "tiny_imagenet", "folder"]


def data(text: str) -> Any:
    return parse_spec(f"data: {{{text}}}\nnetwork: mlp\n", "s.yaml", Path("/base")).data


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidSpecError) as caught:
        data(text)
    return [line.split(": ", 1)[1] for line in caught.value.message.splitlines()]


@pytest.mark.parametrize("source", ["cifar10", "cifar100", "tiny_imagenet"])
def test_published_sets_need_a_name_alone(source: str) -> None:
    spec = parse_spec(f"data: {source}\nnetwork: mlp\n", "s.yaml").data
    assert (spec.source, spec.task, spec.root) == (source, "classification", None)
    assert (spec.size, spec.channels, spec.normalize, spec.augment) == (None, 3, "auto", ())


def test_paths_are_relative_to_the_spec() -> None:
    assert data("source: folder, path: pictures").path == Path("/base/pictures")
    assert data("source: cifar10, root: sets").root == Path("/base/sets")


@pytest.mark.parametrize("source", SOURCES)
def test_sizes_and_channels(source: str) -> None:
    path = ", path: x" if source == "folder" else ""
    spec = data(f"source: {source}{path}, size: 64, channels: 1, normalize: per_channel")
    assert (spec.size, spec.channels, spec.normalize) == (64, 1, "per_channel")
    found = faults(f"source: {source}{path}, size: 0, channels: 2, normalize: channel")
    assert sorted(found) == [
        "data.channels should be 1 (gray) or 3 (color), found 2",
        "data.normalize should be one of auto, per_channel, per_feature, global or none, found the "
        'text "channel"; did you mean per_channel?',
        "data.size should be at least 1, found 0",
    ]


def test_classes_of_tiny_imagenet() -> None:
    assert data("source: tiny_imagenet, classes: 10, per_class: 50").classes == 10
    assert data("source: tiny_imagenet, classes: 1e1").classes == 10
    names = data("source: tiny_imagenet, classes: [n01443537, bullfrog]").classes
    assert names == ("n01443537", "bullfrog")
    for value in ("1", "201", "true", "x", "[a]", "[a, a]", "[a, 3]", "{}", "1.5"):
        (found,) = faults(f"source: tiny_imagenet, classes: {value}")
        assert found.startswith("data.classes should")


def test_round_trip() -> None:
    for text in (
        "source: tiny_imagenet, classes: [a, b], per_class: 3, size: 32",
        "source: tiny_imagenet, classes: 7",
        "source: cifar100, labels: coarse, channels: 1",
        "source: folder, path: /x, test: 30%, validation: 0",
    ):
        spec = parse_spec(f"data: {{{text}}}\nnetwork: mlp\n", "s.yaml")
        assert parse_spec(dump_spec(spec), "s.yaml") == spec


def test_a_channel_s_scale_is_for_images() -> None:
    assert data("source: mnist, normalize: per_channel").normalize == "per_channel"
    for source in ("source: moons", "source: csv, path: x, target: y"):
        (found,) = faults(f"{source}, normalize: per_channel")
        assert found.startswith("data.normalize should be one of auto, per_feature, global or none")


def test_large_parts_of_a_folder_are_judged_when_its_layout_is_known() -> None:
    assert data("source: folder, path: x, test: 50%, validation: 50%").validation == 0.5
    assert faults("source: folder, path: x, test: 0")[0].startswith("data.test should be")
