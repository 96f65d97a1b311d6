"""Every activation, loss and option of training: trained, resumed, exported and evaluated.

A resumed run has the bits of one that was not stopped; ONNX Runtime's answers are the run's; the
loss and the figure of an evaluation are those that SciPy and scikit-learn make of these answers.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from scipy import special
from sklearn import metrics

from senn_cli.data.registry import load
from senn_cli.errors import DataError, SpecError
from senn_cli.model import load_model
from senn_cli.spec import parse_spec
from senn_cli.spec.activation import Activation
from senn_cli.spec.loss import Loss
from senn_cli.training.run import train_run
from senn_cli.use.evaluation import evaluate_run
from senn_cli.use.exports import FORMATS, allowed, export_model
from tests.resuming import check_same, resume, rows, steps
from tests.use.made import made_run

ROWS = 70


def total(values: Any) -> float:
    """The mean over the examples of the sum over the targets."""
    return float(np.mean(np.sum(values, axis=1)))


@dataclass(frozen=True)
class Minimised:
    """What a run minimises, and how it is computed of the answers.

    Attributes:
      section: of the spec.
      targets: an array of the file.
      task: the data's.
      loss: of targets, answers (probabilities or predictions) and errors in deviations.
      figure: of targets and answers.
    """

    section: str
    targets: str
    task: str
    loss: Callable[[Any, Any, Any], float]
    figure: Callable[[Any, Any], float] = metrics.mean_squared_error


LOSSES: dict[str, Minimised] = {
    "cross_entropy": Minimised(
        "{label_smoothing: 0.1, class_weight: {1: 2}}",
        "classes",
        "classification",
        lambda y, p, e: metrics.log_loss(y, p.astype(np.float32), labels=[0, 1, 2]),
        lambda y, p: metrics.accuracy_score(y, p.argmax(axis=1)),
    ),
    "bernoulli": Minimised(
        "auto",
        "labels",
        "multilabel",
        lambda y, p, e: total(-special.xlogy(y, p) - special.xlog1py(1 - y, -p)),
        lambda y, p: np.mean((p > 0.5) == y),
    ),
    "squared": Minimised("squared", "numbers", "regression", lambda y, a, e: total(e**2 / 2)),
    "huber": Minimised(
        "{kind: huber, delta: 0.6}",
        "numbers",
        "regression",
        lambda y, a, e: total(special.huber(0.6, e)),
    ),
    "mae": Minimised("mae", "numbers", "regression", lambda y, a, e: total(np.abs(e))),
    # Half the deviance is the negative log-likelihood, less that of rates which are the counts.
    "poisson": Minimised(
        "poisson",
        "counts",
        "regression",
        lambda y, a, e: metrics.mean_poisson_deviance(y.ravel(), a.ravel()) / 2,
    ),
}

# Together every activation, every loss and every option: the loss, the network's section, that of
# training and the optimizer. What a case costs is compilation.
CASES: dict[str, tuple[str, str, str, str]] = {
    "relu": ("cross_entropy", "dropout: 0.3", "clip: 0.5", "adam"),
    "gelu": ("poisson", "dropout: 0.2", "", "{kl_clip: 0.1}"),
    "leaky_relu": ("huber", "", "clip: 0.2", "{solver: cg}"),
    "softplus": ("mae", "dropout: 0.2", "clip: 0.2", "natural_gradient"),
    "identity": ("squared", "", "stop: validation_mse", "sgd"),
    "silu": ("huber", "dropout: 0.5", "stop: validation_loss", "muon"),
    "tanh": ("bernoulli", "dropout: 0.1", "", "natural_gradient"),
    "rational": ("poisson", "", "clip: 0.1", "rmsprop"),
}
QUICK = ("relu", "gelu")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with arrays whose targets are noisy functions of the inputs."""
    folder, rng = tmp_path_factory.mktemp("choices"), np.random.default_rng(4)
    x = rng.normal(size=(ROWS, 4)).astype(np.float32)
    numbers = np.stack([3 * x[:, 0] + rng.standard_t(2, ROWS), 50 + x[:, 1] * x[:, 2]], axis=1)
    np.savez(
        folder / "arrays.npz",
        x=x,
        images=rng.integers(0, 256, (ROWS, 5, 4), dtype=np.uint8),
        classes=np.digitize(x[:, 0] + 0.3 * rng.normal(size=ROWS), [-0.5, 0.5]),
        labels=(x[:, :3] + x[:, 1:] > 0).astype(np.uint8),
        weights=rng.integers(1, 4, ROWS).astype(np.float32),
        numbers=numbers.astype(np.float32),
        counts=rng.poisson(np.exp(0.5 + 0.5 * x[:, :1])).astype(np.float32),
    )
    return folder


def text_of(case: str, network: str, inputs: str = "x", optimizer: str | None = None) -> str:
    """A spec of three epochs of three steps, with an evaluation after each."""
    loss, more, training, own = CASES[case]
    told = LOSSES[loss]
    data = f"inputs: {inputs}, targets: {told.targets}, weights: weights, task: {told.task}"
    return (
        f"data: {{source: npz, path: arrays.npz, {data}, test: 20, validation: 5}}\n"
        f"network: {{{network}, activation: {case}, {more}}}\nloss: {told.section}\n"
        f"training: {{epochs: 3, batch_size: 15, {training}}}\noptimizer: {optimizer or own}\n"
    )


def check(case: str, text: str, place: Path, folder: Path) -> Path:
    """That a run resumes, is exported and is evaluated; where it is."""
    minimised = LOSSES[CASES[case][0]]
    spec = parse_spec(text, base_dir=place)
    whole = train_run(spec, run_directory=folder / "whole")
    train_run(spec, run_directory=folder / "cut", until=steps(4))
    resume(folder / "cut")
    check_same(folder / "cut", whole.path)
    losses = [row["train_loss"] for row in rows(whole.path / "metrics.jsonl")]
    assert len(losses) == 3 and np.isfinite(losses).all()

    part, model = load(spec).test, load_model(whole.path)
    answers = model(part.x)
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    exported = export_model(model, "choices", "onnx", folder / "network.onnx")
    session = runtime.InferenceSession(exported.files[0], providers=["CPUExecutionProvider"])
    wanted = "predictions" if minimised.task == "regression" else "probabilities"
    (theirs,) = session.run([wanted], {"examples": part.x})
    np.testing.assert_allclose(theirs, answers, rtol=1e-4, atol=1e-5)

    y, wide = part.y, answers.astype(np.float64)
    errors = None
    if minimised.task == "regression":
        errors = (wide - y) * model.preprocessing.target_scale
    expected = minimised.loss(y, wide, errors)
    figure = minimised.figure(y, wide)
    name = "test_mse" if minimised.task == "regression" else "test_accuracy"
    assert whole.summary["test_loss"] == pytest.approx(expected, rel=1e-4)
    assert whole.summary[name] == pytest.approx(figure, rel=1e-4)
    found: Any = evaluate_run(whole.path).measures
    assert found.loss == pytest.approx(expected, rel=1e-4)
    assert getattr(found, name.removeprefix("test_")) == pytest.approx(figure, rel=1e-4)
    return whole.path


@pytest.mark.parametrize(
    "case", [pytest.param(a, marks=() if a in QUICK else pytest.mark.slow) for a in CASES]
)
def test_a_fully_connected_network(case: str, place: Path, tmp_path: Path) -> None:
    text = text_of(case, "kind: mlp, hidden: [5]") + "expansion: none\n"
    check(case, text, place, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted({*CASES} - {"rational"}))
def test_a_densenet(case: str, place: Path, tmp_path: Path) -> None:
    optimizer = CASES[case][3].replace("cg", "kfac")
    network = "kind: densenet, blocks: [[3, 2]]"
    text = text_of(case, network, "images", optimizer) + "expansion: none\n"
    check(case, text, place, tmp_path)


GROWING = """
expansion:
  {threshold: 1e-6, stop: 1e-6, price: 0, every: {steps: 2}, noise: 0, samples: 40, prune: false,
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}, depth: false}
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_network_that_grows(case: str, place: Path, tmp_path: Path) -> None:
    """Additions keep the function with every activation, whatever steps leave out or cut off."""
    text = text_of(case, "kind: mlp, hidden: [3]", optimizer="natural_gradient") + GROWING
    events = rows(check(case, text, place, tmp_path) / "history.jsonl")
    grown = [event for event in events if event["accepted"]]
    assert "add_neurons" in {event["edit"] for event in grown}
    for event in grown:
        assert event["loss_after"] == pytest.approx(event["loss_before"], rel=1e-5)


STANDING = """
expansion:
  {proposals: dormant, threshold: 1e-6, stop: 1e-9, every: {steps: 3}, noise: 0, prune: false,
  depth: false, dormant: {activate: 0.2, slow: 0.5}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mlp, hidden: [3]", "densenet, blocks: [[3]]"])
def test_dormant_proposals(kind: str, place: Path, tmp_path: Path) -> None:
    """Steps that leave units out average what proposals are scored by, too."""
    inputs = "x" if "mlp" in kind else "images"
    text = text_of("relu", f"kind: {kind}", inputs, "natural_gradient") + STANDING
    events = rows(check("relu", text, place, tmp_path) / "history.jsonl")
    assert "add_neurons" in {event["edit"] for event in events if event["accepted"]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mlp", "densenet"])
@pytest.mark.parametrize("activation", get_args(Activation))
def test_every_format_has_every_activation(activation: str, kind: str, tmp_path: Path) -> None:
    if (activation, kind) == ("rational", "densenet"):
        pytest.skip("channels have no coefficients")
    blocks = [[3, 2]] if kind == "densenet" else []
    data = "{source: digits, subset: 100}"
    model = load_model(made_run(tmp_path / "run", data, activation=activation, blocks=blocks))
    written = []
    for form in FORMATS:
        if form == "torch" and importlib.util.find_spec("torch") is None:
            continue
        found = export_model(model, "made", form, tmp_path / form)
        assert found.difference <= allowed(found.rounding)
        written.append(form)
    assert {"onnx", "safetensors", "stablehlo", "flax"} <= {*written}


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("network: {kind: mlp, dropout: 1}", "network.dropout should be below 1, found 1"),
        ("network: {kind: mlp, dropout: -0.1}", "network.dropout should be at least 0"),
        ("network: {kind: mlp, activation: swish}", "network.activation should be one of rational"),
        ("network: {kind: densenet, activation: rational}", "network.activation should be one of"),
        ("training: {clip: 0}", "training.clip should be above 0, found 0"),
        ("training: {clip: .inf}", "training.clip should be"),
        ("training: {stop: validation_mse}", "training.stop should not be validation_mse"),
        ("loss: poisson", "loss.kind should be auto or cross_entropy"),
        ("loss: hubert", "loss.kind should be one of auto, cross_entropy"),
        ("loss: {label_smoothing: 1}", "loss.label_smoothing should be below 1, found 1"),
        ("loss: {delta: 2}", "loss.delta is not read here; it belongs to loss.kind: huber"),
    ],
)
def test_what_cannot_be_is_refused_by_name(section: str, message: str) -> None:
    network = "" if section.startswith("network") else "network: mlp\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(f"data: digits\n{network}{section}\n", "mine.yaml")
    assert f"mine.yaml:{3 if network else 2}: {message}" in refused.value.message


def test_negative_counts_are_refused_by_row(place: Path) -> None:
    text = text_of("gelu", "kind: mlp").replace("targets: counts", "targets: numbers")
    with pytest.raises(DataError, match=r"row \d+: target 1 is -.*loss: poisson"):
        load(parse_spec(text, base_dir=place))


def test_these_are_all() -> None:
    assert set(CASES) == set(get_args(Activation))
    assert {case[0] for case in CASES.values()} == set(LOSSES)
    assert set(get_args(Loss)) == set(LOSSES)
