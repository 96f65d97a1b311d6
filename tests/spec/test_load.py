"""Loading specs: defaults, strictness, and every fault with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.errors import SpecError
from senn_cli.spec import Duration, InvalidSpecError, Spec, load_spec, parse_spec
from senn_cli.spec.optimizer import NaturalGradientSpec

BASE = "data: digits\nnetwork: mlp\n"


def parsed(text: str, base: str = BASE) -> Spec:
    return parse_spec(base + text, "s.yaml")


def faults(text: str, base: str = BASE) -> list[str]:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(base + text, "s.yaml")
    assert caught.value.exit_code == 2
    return caught.value.message.splitlines()


def natural(text: str) -> NaturalGradientSpec:
    optimizer = parsed(text).optimizer
    assert isinstance(optimizer, NaturalGradientSpec)
    return optimizer


def test_defaults() -> None:
    spec = parsed("")
    assert spec == Spec.model_validate(
        {"name": "s", "data": {"source": "digits"}, "network": {"kind": "mlp"}}
    )
    assert spec.name == "s"
    assert spec.seed == 0
    assert spec.data.validation == 0.1
    assert spec.network.hidden == (10,)
    assert spec.expansion.policy == "senn"
    assert spec.training.length() == Duration(epochs=20)


def test_the_name_comes_from_the_file(tmp_path: Path) -> None:
    for file, name in {"a b.yaml": "a-b", "größe.yml": "größe", "..x.yaml": "x"}.items():
        (tmp_path / file).write_text(BASE)
        assert load_spec(tmp_path / file).name == name
    assert parse_spec(BASE, "---.yaml").name == "run"


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(b"\xef\xbb\xbfdata: digits\r\nnetwork: mlp\r\nseed: x\r\n")
    with pytest.raises(SpecError, match=r"s\.yaml:3: seed should be"):
        load_spec(file)


def test_numbers_in_any_spelling() -> None:
    spec = parsed(
        "optimizer: {kind: adam, learning_rate: 3e-4, weight_decay: 0}\n"
        "training: {steps: 1e3, batch_size: 1e2}\nseed: 0x10\nexpansion: {samples: 2E3}"
    )
    assert spec.optimizer.learning_rate == 3e-4
    assert spec.optimizer.weight_decay == 0
    assert (spec.training.steps, spec.training.batch_size) == (1000, 100)
    assert isinstance(spec.training.steps, int)
    assert isinstance(spec.training.batch_size, int)
    assert (spec.seed, spec.expansion.samples) == (16, 2000)


def test_presets_fill_in_what_is_not_written() -> None:
    fast = natural("")
    assert (fast.solver, fast.learning_rate, fast.damping) == ("kfac", 0.3, 0.01)
    assert (fast.kl_clip, fast.schedule.kind) == (0.1, "cosine")
    assert fast == natural("optimizer: {preset: null}").model_copy(update={"preset": "fast"})
    paper = natural("optimizer: {preset: paper, damping: 0.2, kl_clip: 0.5}")
    assert (paper.solver, paper.learning_rate, paper.damping) == ("cg", 0.1, 0.2)
    assert (paper.metric, paper.kl_clip) == ("euclidean", 0.5)
    assert paper.schedule.kind == "constant"
    assert natural("optimizer: {preset: paper}").kl_clip is None
    assert (fast.weight_decay, paper.weight_decay) == (0.1, 0.0)
    assert natural("optimizer: {kl_clip: null}").kl_clip is None


def test_small_data_are_trained_for_enough_steps() -> None:
    # 20 epochs of 3 steps are 60 steps; of 200 they are 4,000.
    default = parsed("").training
    assert (default.steps_of(3), default.steps_of(200)) == (300, 4000)
    assert parsed("training: {epochs: 5}").training.steps_of(3) == 15
    assert parsed("training: {epochs: 5, least_steps: 40}").training.steps_of(3) == 40
    by_clock = parsed("training: {minutes: 5}\noptimizer: {schedule: constant}")
    assert by_clock.training.steps_of(3) is None
    with pytest.raises(SpecError, match="least_steps, which belongs to a length in epochs"):
        parsed("training: {steps: 5, least_steps: 40}")


def test_short_forms() -> None:
    spec = parsed("optimizer: adam\nexpansion: {depth: false, every: 300 steps}")
    assert spec.optimizer.kind == "adam"
    assert not spec.expansion.depth.enabled
    assert spec.expansion.every == Duration(steps=300)


def test_anchors_and_merges() -> None:
    spec = parsed(
        "expansion:\n  width: &search {proposals: 99, polished: 2}\n"
        "  depth: {<<: *search, polished: 3}\n"
    )
    assert (spec.expansion.depth.proposals, spec.expansion.depth.polished) == (99, 3)


def test_every_fault_is_reported_at_once_and_in_order() -> None:
    text = """\
data: {source: digits, validation: 2.5}
network: {kind: mlp, hidden: [10, true], capacity: {initial: [3]}}
optimizer:
  lerning_rate: 3e-4
  damping: .nan
  b1: 0.9
  metric: gaussian
lr: 3
training:
  epochs: 1
  steps: 1e3
  batch_size: "7"
expansion:
  every: 5m
  width: false
  depth: false
  polcy: sen
seed: 1
seed: 2
"""
    found = faults(text, base="")
    assert [line.split(" ")[:2] for line in found] == [
        ["s.yaml:1:", "data.validation"],
        ["s.yaml:2:", "network.hidden.1"],
        ["s.yaml:4:", "optimizer.lerning_rate"],
        ["s.yaml:5:", "optimizer.damping"],
        ["s.yaml:6:", "optimizer.b1"],
        ["s.yaml:7:", "optimizer.metric"],
        ["s.yaml:8:", "lr"],
        ["s.yaml:11:", "training.steps"],
        ["s.yaml:12:", "training.batch_size"],
        ["s.yaml:13:", "expansion.policy"],
        ["s.yaml:14:", "expansion.every"],
        ["s.yaml:17:", "expansion.polcy"],
        ["s.yaml:19:", "seed"],
    ]
    assert found[-1] == "s.yaml:19: seed is given twice, on line 18 and on line 19"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "optimizer: {lerning_rate: 1}",
            "optimizer.lerning_rate is unknown; did you mean learning_rate?",
        ),
        ("lr: 1", "lr is unknown; did you mean optimizer.learning_rate?"),
        ("treshold: 1", "treshold is unknown; did you mean expansion.threshold?"),
        ("optimizer: {tau: 1}", "optimizer.tau is unknown; did you mean expansion.threshold?"),
        ("policy: senn", "policy is unknown here; this key belongs under expansion"),
        ("hidden: [3]", "hidden is unknown here; this key belongs under data or under network"),
        (
            "training: {learning_rate: 1}",
            "training.learning_rate is unknown here; this key belongs under optimizer or under "
            "expansion.width or under expansion.depth",
        ),
        (
            "optimizer: {seed: 1}",
            "optimizer.seed is unknown here; this key belongs at the top level",
        ),
        (
            "optimizer: {kind: sgd, b1: 0.5}",
            "optimizer.b1 is not an option of kind: sgd; it belongs to kind: adam, adamw, lion or "
            "muon",
        ),
        ("expansion: {every: {epoch: 1}}", "expansion.every.epoch is unknown; did you mean epochs"),
        ("zebra: 1", "zebra is unknown; a spec has name, seed, device"),
    ],
)
def test_unknown_keys(text: str, message: str) -> None:
    (found,) = faults(text)
    assert found.startswith(f"s.yaml:3: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("optimizer: {learning_rate: true}", "should be a number, found true"),
        ("optimizer: {learning_rate: .nan}", "should be a finite number, found .nan"),
        ("optimizer: {learning_rate: .inf}", "should be a finite number, found .inf"),
        ("optimizer: {learning_rate: 1e999}", "should be a finite number, found .inf"),
        ("optimizer: {learning_rate: '3e-4'}", 'should be a number, found the text "3e-4"'),
        ("optimizer: {learning_rate: }", "should be a number, found nothing (null)"),
        ("optimizer: {learning_rate: 0}", "should be above 0, found 0"),
        ("optimizer: {momentum: 1}", "should be below 1, found 1"),
        ("seed: 1.5", "should be a whole number, found 1.5"),
        ("seed: 017", 'should be a whole number, found the text "017"'),
        ("seed: -1", "should be at least 0, found -1"),
        ("seed: 4294967296", "should be below 4294967296"),
        ("deterministic: off", 'should be true or false, found the text "off"'),
        ("deterministic: 1", "should be true or false, found 1"),
        ("name: 7", "should be a text, found 7; put quotes around it"),
        ("name: a/b", "should consist of letters, digits"),
        ("name: ..", "should consist of letters, digits"),
        ("name: " + "x" * 200, "should be at most 120 bytes long"),
        (
            "device: gpuu",
            'should be one of auto, cpu or gpu, found the text "gpuu"; did you mean gpu?',
        ),
        (
            "expansion: {policy: Sen}",
            'found the text "Sen"; did you mean senn?',
        ),
        ("optimizer: {schedule: {kind: cosin}}", "did you mean cosine?"),
        ("training: {stop: accuracy}", "did you mean validation_accuracy?"),
        ("expansion: {every: 10}", "should be a duration such as {epochs: 10} or `300 steps`"),
        ("expansion: {every: {minutes: 5}}", "should be in steps or epochs, found minutes"),
        ("training: {evaluate: 5m}", "should be in steps or epochs, found minutes"),
        ("training: {epochs: 1, minutes: 1}", "is given beside epochs"),
        ("training: {batch_size: 0}", "should be `auto`, `full` or a whole number from 1 to"),
        ("expansion:", "expansion is empty; leave it out to take the defaults"),
        ("expansion: [1]", "should be a mapping, found a list of 1"),
        ("expansion: {width: no}", 'should be a mapping, found the text "no"'),
        (
            "optimizer: {kind: 3}",
            "should be one of natural_gradient, adam, adamw, sgd, rmsprop, lion or muon, found 3",
        ),
    ],
)
def test_wrong_values_name_what_was_found_and_expected(text: str, message: str) -> None:
    (found,) = faults(text)
    assert found.startswith("s.yaml:3: ")
    assert message in found


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "data: {sorce: digits}\nnetwork: mlp",
            ["s.yaml:1: data has no source; it should be one of digits, moons, regression, mnist, "
             "fashion_mnist, cifar10, cifar100, tiny_imagenet, folder, npz, csv, parquet, sklearn "
             "or huggingface (did you mean source by sorce?)"],
        ),
        (
            "data: {source: digit}\nnetwork: mlp",
            ["s.yaml:1: data.source should be one of digits, moons, regression, mnist, "
             'fashion_mnist, cifar10, cifar100, tiny_imagenet, folder, npz, csv, parquet, sklearn '
             'or huggingface, found the text "digit"; did you mean digits?'],
        ),
        (
            "data: digitz\nnetwork: {kind: mpl}",
            ["s.yaml:1: data.source should be one of digits, moons, regression, mnist, "
             'fashion_mnist, cifar10, cifar100, tiny_imagenet, folder, npz, csv, parquet, sklearn '
             'or huggingface, found the text "digitz"; did you mean digits?',
             's.yaml:2: network.kind should be one of mlp or densenet, found the text "mpl"; did '
             'you mean mlp?'],
        ),
        (
            "data: digits\nnetwork: {kind: mlp, hidden: 10}",
            ["s.yaml:2: network.hidden should be a list, found 10; did you mean `hidden: [10]`?"],
        ),
        (
            "data: digits\nnetwork: {kind: mlp, hidden: true}",
            ["s.yaml:2: network.hidden should be a list, found true"],
        ),
        (
            "data: digits\nnetwork: {hidden: [3]}\noptimizer: {kind: adams}",
            ["s.yaml:2: network has no kind; it should be one of mlp or densenet",
             "s.yaml:3: optimizer.kind should be one of natural_gradient, adam, adamw, sgd, "
             'rmsprop, lion or muon, found the text "adams"; did you mean adam?'],
        ),
        (
            "data: {source: csv}",
            ["s.yaml:1: data.path is missing",
             "s.yaml:1: network is missing; write for example `network: mlp`"],
        ),
        ("data: 3\nnetwork: mlp", ["s.yaml:1: data should be a mapping, found 3"]),
    ],
)  # fmt: skip
def test_variants_are_named_without_a_wall_of_branches(text: str, messages: list[str]) -> None:
    assert faults(text, base="") == messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.yaml:1: the spec is empty; `senn new minimal` prints one to start from"),
        ("# only this\n", "s.yaml:1: the spec has no keys; `senn new minimal` prints one"),
        ("- 1\n- 2", "s.yaml:1: a spec should be a mapping such as `data: digits`, found a list"),
        ("3", "s.yaml:1: a spec should be a mapping such as `data: digits`, found 3"),
        ("data: digits\n\tnetwork: mlp", "s.yaml:2: a tab in column 1"),
    ],
)
def test_specs_that_are_none(text: str, message: str) -> None:
    (found,) = faults(text, base="")
    assert found.startswith(message)


def test_a_value_that_could_not_be_read_is_told_once() -> None:
    assert faults("seed: !mine 3") == ["s.yaml:3: seed has the tag !mine, which specs don't know"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "quickstart.yaml").write_text(BASE)
    with pytest.raises(SpecError, match="no such file") as caught:
        load_spec(tmp_path / "quikstart.yaml")
    assert caught.value.hint == f"Did you mean {tmp_path / 'quickstart.yaml'}?"
    with pytest.raises(SpecError, match="is a directory, not a regular file"):
        load_spec(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("name: größe".encode("latin-1"))
    with pytest.raises(SpecError, match="not UTF-8 text"):
        load_spec(tmp_path / "latin.yaml")
    with pytest.raises(SpecError, match="can't be read"):
        load_spec("a\0b.yaml")


def test_faults_carry_their_parts() -> None:
    with pytest.raises(InvalidSpecError) as caught:
        parse_spec(BASE + "seed: x", "dir/s.yaml")
    (fault,) = caught.value.faults
    assert (fault.origin, fault.line, fault.path) == ("dir/s.yaml:3", 3, ("seed",))
