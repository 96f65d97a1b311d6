"""Do the defaults do for a stranger's small table? senn beside scikit-learn's own, on equal splits.

    python benchmarks/tables.py --seeds 5

Iris, wine, breast cancer, diabetes and linnerud of scikit-learn as csv files, each by a spec of
three lines. For every seed, which is the split, too: a run, and on its rows `MLPClassifier` or
`MLPRegressor` and `LogisticRegression` or `Ridge` with their defaults, on the columns as they are
and standardised; they learn from the training and the validation part, a run from the first alone.
Prints test accuracy in percent or the test mean squared error, sizes, and seconds.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import senn_cli
from senn_cli.data.registry import load_dataset

TABLES = ("iris", "wine", "breast_cancer", "diabetes", "linnerud")
SPEC = """\
data: {{source: csv, path: {name}.csv, target: {target}, task: {task}}}
network: mlp
seed: {seed}
"""


def write(name: str, place: Path) -> tuple[str, str]:
    """Writes a table with a header; its targets as a spec has them, and its task."""
    bunch: Any = getattr(datasets, f"load_{name}")()
    values = bunch.target.reshape(len(bunch.target), -1)
    targets = list(bunch.target_names) if values.shape[1] > 1 else ["target"]
    names = [feature.replace(",", " ") for feature in bunch.feature_names]
    with (place / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*names, *targets])
        table.writerows([*x, *y] for x, y in zip(bunch.data, values, strict=True))
    task = "regression" if name in ("diabetes", "linnerud") else "classification"
    return f"[{', '.join(targets)}]" if len(targets) > 1 else targets[0], task


def scikit_learn(spec: Path, seed: int) -> dict[str, float]:
    """What scikit-learn's models reach on the rows of the spec's parts."""
    loaded = senn_cli.load_spec(spec)
    data = load_dataset(loaded.data, loaded.seed)
    assert data.validation is not None
    x = np.concatenate([data.train.x, data.validation.x]).astype(np.float64)
    y = np.concatenate([data.train.y, data.validation.y])
    test_x, test_y = data.test.x.astype(np.float64), data.test.y
    classes = data.task == "classification"
    if not classes and y.shape[1] == 1:
        y, test_y = y[:, 0], test_y[:, 0]
    models = {
        "MLP": MLPClassifier(random_state=seed) if classes else MLPRegressor(random_state=seed),
        "linear": LogisticRegression() if classes else Ridge(),
    }
    found = {}
    for name, model in models.items():
        for label, one in ((name, model), (f"{name}, std", make_pipeline(StandardScaler(), model))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that defaults do not converge is their result
                one.fit(x, y)
            answers = one.predict(test_x)
            right = 100 * float(np.mean(answers == test_y)) if classes else 0.0
            found[label] = right if classes else float(mean_squared_error(test_y, answers))
    return found


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    for name in arguments.tables:
        figures: dict[str, list[float]] = {}
        with tempfile.TemporaryDirectory() as root:
            place = Path(root)
            target, task = write(name, place)
            for seed in range(arguments.seeds):
                spec = place / f"{name}.yaml"
                text = SPEC.format(name=name, target=target, task=task, seed=seed)
                spec.write_text(text, encoding="utf-8")
                summary = senn_cli.train(spec, overrides=arguments.overrides, root=place).summary
                classes = task == "classification"
                own = 100 * summary["test_accuracy"] if classes else summary["test_mse"]
                for label, value in {"senn": own, **scikit_learn(spec, seed)}.items():
                    figures.setdefault(label, []).append(value)
                seconds = summary["seconds"]
                print(
                    f"  {name} seed {seed}: {own:.5g}, hidden {summary['hidden']}, "
                    f"{summary['parameters']} parameters, {summary['compilations']} programs, "
                    f"{seconds['total']:.0f} s (compile {seconds['compile']:.0f})",
                    flush=True,
                )
        for label, values in figures.items():
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{name:14} {label:12} mean {statistics.mean(values):.5g}, sd {spread:.3g}")


if __name__ == "__main__":
    main()
