"""The estimators with their defaults beside scikit-learn's with theirs: five-fold cross-validation.

    python benchmarks/estimators.py --seeds 1 2 3 --markdown

`cross_val_score` over the same five shuffled folds a seed (stratified for classes) of iris, wine,
breast cancer, diabetes and digits: accuracy in percent, or R^2 for diabetes. *std* is on
standardised columns; senn scales its inputs itself. Prints means and standard deviations over the
folds, seconds of all, and with `--markdown` the table of the README.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import senn_cli

TABLES = ("iris", "wine", "breast_cancer", "diabetes", "digits")


def models(classes: bool, seed: int, hidden: list[int] | None = None) -> dict[str, Any]:
    """The models by the heads of their columns."""
    senn = senn_cli.SennClassifier if classes else senn_cli.SennRegressor
    mlp = MLPClassifier if classes else MLPRegressor
    linear = LogisticRegression() if classes else Ridge()
    trees = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return {
        "senn": senn(hidden, random_state=seed),
        "MLP": mlp(random_state=seed),
        "MLP, std": make_pipeline(StandardScaler(), mlp(random_state=seed)),
        "linear": linear,
        "linear, std": make_pipeline(StandardScaler(), linear),
        "boosted trees": trees(random_state=seed),
    }


def folded(
    name: str, data: tuple[Any, Any], classes: bool, seed: int, hidden: list[int] | None
) -> np.ndarray:
    """The scores of a model on five folds."""
    folds = StratifiedKFold if classes else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that defaults do not converge is their result
        scores: np.ndarray = cross_val_score(
            models(classes, seed, hidden)[name],
            *data,
            cv=folds(5, shuffle=True, random_state=seed),
        )
    return scores


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[1], help="of the folds and of the models"
    )
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--models", nargs="+", help="some of the columns alone")
    parser.add_argument("--hidden", nargs="+", type=int, help="of senn, in place of its default")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    lines = []
    for table in arguments.tables:
        x, y = getattr(datasets, f"load_{table}")(return_X_y=True)
        classes = table != "diabetes"
        cells = [table.replace("_", " ") + ("" if classes else " (R^2)")]
        for name in arguments.models or models(classes, 0):
            begin = time.perf_counter()
            scores = np.concatenate(
                [folded(name, (x, y), classes, seed, arguments.hidden) for seed in arguments.seeds]
            )
            spent, places = time.perf_counter() - begin, 1 if classes else 3
            scores = 100 * scores if classes else scores
            cells.append(f"{np.mean(scores):.{places}f} ± {np.std(scores, ddof=1):.{places}f}")
            print(
                f"{table:14} {name:14} {cells[-1]}, {spent:.1f} s, {np.round(scores, 3)}",
                flush=True,
            )
        lines.append("| " + " | ".join(cells) + " |")
    if arguments.markdown:
        heads = ["", *(arguments.models or models(True, 0))]
        print("\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *lines]))


if __name__ == "__main__":
    main()
