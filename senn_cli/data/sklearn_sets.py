"""`source: sklearn`: the sets that scikit-learn brings, and those that it fetches from OpenML."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.frames import joined, table_of
from senn_cli.data.table import Cells, Table
from senn_cli.errors import DataError
from senn_cli.extras import require


def read_set(name: str | None, openml: str | None, version: int | None) -> Table:
    """A set as a table that knows its targets.

    Args:
      name: of one that comes with scikit-learn; None for one of OpenML.
      openml, version: name and version of one of OpenML.

    Raises:
      DataError: a set that OpenML does not have, or that cannot be downloaded.
      UsageError: pandas is not installed, which scikit-learn needs for sets of OpenML.
    """
    if openml is not None:
        return _fetched(openml, version)
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    targets = _targets(bunch)
    columns: list[tuple[str, Cells | Array, bool]] = [
        (str(one), np.ascontiguousarray(values), False)
        for one, values in zip(bunch.feature_names, np.asarray(bunch.data).T, strict=True)
    ]
    columns += [(one, values, False) for one, values in targets.items()]
    return replace(joined(columns, f"sklearn's {name}"), targets=tuple(targets))


def _targets(bunch: Any) -> dict[str, Cells]:
    """The targets by name; classes by theirs."""
    values = np.asarray(bunch.target)
    names: Any = getattr(bunch, "target_names", None)
    if values.ndim == 2:
        return dict(zip(map(str, names), values.T, strict=True))
    if names is None:
        return {"target": values}
    return {"target": [str(names[number]) for number in values]}


def _fetched(name: str, version: int | None) -> Table:
    require("pandas", "A data set of OpenML", extra="openml")
    from sklearn.datasets import fetch_openml, get_data_home

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which version it took is told below
            bunch = fetch_openml(name, version=version or "active", as_frame=True, parser="auto")
    except OSError as error:  # urllib's and socket's errors
        raise DataError(
            f"OpenML's {name} is not in scikit-learn's cache, {get_data_home()}, and cannot be "
            f"downloaded: {error}",
            hint="fetch it where there is a network, with sklearn.datasets.fetch_openml, and copy "
            "the cache; the environment variable SCIKIT_LEARN_DATA says where it is",
        ) from error
    except ValueError as error:
        raise DataError(f"OpenML's {name}: {error}") from error
    table = table_of(bunch.frame, f"OpenML's {name}")
    told = f"OpenML's {name} is version {bunch.details['version']}, id {bunch.details['id']}"
    return replace(table, targets=tuple(map(str, bunch.target_names)), notes=(told,))
