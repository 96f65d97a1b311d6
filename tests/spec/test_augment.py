"""`data.augment`: short and long forms, overrides, and faults at their own keys."""

from __future__ import annotations

from typing import Any

import pytest

from senn_cli.spec import InvalidSpecError, Spec, dump_spec, parse_spec
from senn_cli.spec.augment import AUGMENTATIONS, StepSpec, walk
from senn_cli.spec.data import augmentation


def parsed(text: str, *overrides: str, source: str = "source: cifar10") -> Spec:
    body = f"data: {{{source}, augment: {text}}}\nnetwork: mlp\n"
    return parse_spec(body, "s.yaml", None, overrides)


def steps(text: str, *overrides: str) -> tuple[StepSpec, ...]:
    return augmentation(parsed(text, *overrides).data)


def faults(text: str, *overrides: str, source: str = "source: cifar10") -> list[str]:
    with pytest.raises(InvalidSpecError) as caught:
        parsed(text, *overrides, source=source)
    return [line.split(": ", 1)[1] for line in caught.value.message.splitlines()]


def value(step: Any, name: str) -> Any:
    return getattr(step, name)


def test_the_paper_s_steps_are_what_its_appendix_says() -> None:
    flip, some = steps("paper")
    assert (flip.kind, value(flip, "probability")) == ("flip", 0.5)
    assert (some.kind, value(some, "share")) == ("some", 0.5)
    pad, rotate, scale, crop, color = value(some, "apply")
    assert (pad.kind, pad.to) == ("pad", 2.0)
    assert (rotate.kind, rotate.degrees, rotate.probability) == ("rotate", 20.0, 0.3)
    assert (scale.kind, scale.low, scale.high, scale.probability) == ("scale", 0.8, 1.2, 0.3)
    assert crop.kind == "crop"
    assert (color.kind, color.saturation, color.contrast) == ("color", (0.8, 1.3), (0.8, 1.3))
    assert (color.brightness, color.probability) == (0.3, 0.3)


def test_names_nothing_and_short_forms() -> None:
    assert steps("[]") == steps("null") == ()
    assert steps("[flip, {kind: flip}]") == steps("[{kind: flip, probability: 0.5}, flip]")
    assert augmentation(parse_spec("data: digits\nnetwork: mlp\n").data) == ()
    assert augmentation(parse_spec("data: moons\nnetwork: mlp\n").data) == ()


def test_overrides_reach_into_the_list_and_into_groups() -> None:
    (rotate,) = steps("[{kind: rotate}]", "data.augment.0.degrees=15")
    assert value(rotate, "degrees") == 15.0
    (some,) = steps(
        "[{kind: some, apply: [{kind: rotate, degrees: 3}]}]",
        "data.augment.0.apply.0.degrees=4",
        "data.augment.0.share=0.25",
    )
    assert value(some, "share") == 0.25
    assert value(some, "apply")[0].degrees == 4.0
    assert steps("paper", "data.augment=[]") == ()


def test_written_out_and_read_again() -> None:
    for text in ("paper", "[flip]", "[{kind: some, apply: [pad, crop]}, color]", "[]"):
        spec = parsed(text)
        again = parse_spec(dump_spec(spec), "s.yaml")
        assert again == spec
        assert hash(again) == hash(spec)


def test_steps_can_be_keys_of_a_compiled_function() -> None:
    assert hash(steps("paper")) == hash(AUGMENTATIONS["paper"])
    assert steps("paper") == AUGMENTATIONS["paper"]


def test_walk_goes_into_groups() -> None:
    paths = [path for path, _ in walk(AUGMENTATIONS["paper"])]
    assert paths == [(0,), *((1, "apply", inner) for inner in range(5))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{kind: rotate, degres: 3}]", "data.augment.0.degres is unknown; did you mean degrees?"),
        ("[{kind: crop, degrees: 3}]", "data.augment.0.degrees is unknown; a crop step has no"),
        ("[flip, {kind: rotate, degrees: x}]", "data.augment.1.degrees should be a number"),
        ("[{kind: rotate, degrees: 181}]", "data.augment.0.degrees should be at most 180"),
        ("[{kind: flip, probability: 2}]", "data.augment.0.probability should be at most 1"),
        ("[{kind: turn}]", "data.augment.0.kind should be one of flip, pad, rotate, scale, crop"),
        (
            "[rotat]",
            "data.augment.0 should be one of flip, pad, rotate, scale, crop, color or some,"
            ' found the text "rotat"; did you mean rotate?',
        ),
        ("[{probability: 1}]", "data.augment.0 has no kind; it should be one of flip"),
        ("[3]", "data.augment.0 should be a step such as `kind: flip`, found 3"),
        ("[null]", "data.augment.0 should be a step such as `kind: flip`, found nothing"),
        ("[{kind: [flip]}]", "data.augment.0.kind should be one of"),
        ("[{kind: some}]", "data.augment.0.apply is missing"),
        ("[{kind: some, apply: [{kind: some}]}]", "data.augment.0.apply.0.kind should be one of"),
        ("[{kind: some, apply: flip}]", "data.augment.0.apply should be a list"),
        ("[{kind: scale, low: 1.3}]", "data.augment.0 should have low at most high, found 1.3 and"),
        ("[{kind: scale, low: 0}]", "data.augment.0.low should be above 0"),
        (
            "[{kind: color, contrast: [2, 1]}]",
            "data.augment.0.contrast should have the smaller factor first, found 2 and 1",
        ),
        ("[{kind: color, contrast: [2]}]", "data.augment.0.contrast should be two factors"),
        ("[{kind: color, contrast: 2}]", "data.augment.0.contrast should be a list, found 2"),
        (
            "[{kind: color, saturation: [-1, 1]}]",
            "data.augment.0.saturation.0 should be at least 0, found -1",
        ),
        ("[{kind: pad, to: 0.5}, crop]", "data.augment.0.to should be at least 1, found 0.5"),
        ("[pad]", "data.augment should have a crop after a pad"),
        ("[crop]", "data.augment should have a pad before a crop"),
        ("[crop, pad]", "data.augment should have a pad before a crop"),
        ("[pad, pad, crop]", "data.augment should have a crop between two pads"),
        ("[pad, color, crop]", "data.augment should not have color between pad and crop"),
        ("[pad, {kind: some, apply: [color]}, crop]", "data.augment should not have color between"),
        (
            "[pad, {kind: some, apply: [crop]}]",
            "data.augment should have a pad and its crop in one",
        ),
        (
            "[{kind: some, apply: [pad]}, crop]",
            "data.augment should have a pad and its crop in one",
        ),
        ("papr", "data.augment should be `paper` or a list of steps"),
        ("{kind: flip}", "data.augment should be a list of steps, each beginning with `- kind:`"),
        ("3", "data.augment should be a list, found 3"),
    ],
)
def test_faults(text: str, message: str) -> None:
    (found,) = faults(text)
    assert found.startswith(message)


def test_all_faults_of_a_list_at_once() -> None:
    found = faults("[{kind: rotate, degrees: x, probability: 3}, {kind: flop}, 3]")
    assert [line.split()[0] for line in found] == [
        "data.augment.0.degrees",
        "data.augment.0.probability",
        "data.augment.1.kind",
        "data.augment.2",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[pad, rotate, scale, flip, crop, color, pad, crop]",
        "[pad, {kind: some, apply: [rotate]}, crop]",
    ],
)
def test_orders_that_are_fine(text: str) -> None:
    assert len(steps(text)) >= 3


@pytest.mark.parametrize(
    "source", ["source: moons", "source: regression", "source: csv, path: x, target: y"]
)
def test_only_images_can_be_augmented(source: str) -> None:
    (found,) = faults("[flip]", source=source)
    assert found.startswith("data.augment is not an option of source")
    assert "it belongs to source: digits, mnist, fashion_mnist" in found


@pytest.mark.parametrize(
    "source",
    [
        "source: digits",
        "source: mnist",
        "source: fashion_mnist",
        "source: cifar100",
        "source: tiny_imagenet",
        "source: folder, path: x",
        "source: npz, path: x",
    ],
)
def test_sources_that_can_be_augmented(source: str) -> None:
    assert len(augmentation(parsed("[flip, {kind: rotate}]", source=source).data)) == 2


def test_colors_of_digits_have_another_scale() -> None:
    (found,) = faults("paper", source="source: digits")
    assert found.startswith("data.augment.1.apply.4 should not be color for digits")
