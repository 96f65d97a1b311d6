"""The options of `source: csv`: what is taken, and what is said about the rest."""

from __future__ import annotations

import pytest

from senn_cli.errors import SpecError
from senn_cli.spec import parse_spec
from senn_cli.spec.tables import CsvSpec


def read(option: str) -> CsvSpec:
    spec = parse_spec(f"data: {{source: csv, path: a.csv, {option}}}\nnetwork: mlp\n")
    assert isinstance(spec.data, CsvSpec)
    return spec.data


def test_defaults() -> None:
    spec = read("target: y")
    assert (spec.header, spec.delimiter, spec.categories, spec.missing) == (
        "auto", "auto", "auto", "refuse",
    )  # fmt: skip
    assert (spec.columns, spec.drop, spec.fill) == (None, (), None)


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("header: 3", "header", 3),
        ("header: none", "header", "none"),
        ("categories: [a, 2]", "categories", ("a", 2)),
        ("categories: []", "categories", ()),
        ("drop: [a, 7]", "drop", ("a", 7)),
        ("columns: [b]", "columns", ("b",)),
        ("missing: median", "fill", "median"),
        ("missing: drop", "fill", None),
        ("target: 3", "target", 3),
        ("target: [a, 3]", "target", ("a", 3)),
        ('delimiter: " "', "delimiter", " "),
    ],
)
def test_what_is_taken(option: str, name: str, value: object) -> None:
    assert getattr(read(option), name) == value


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("header: 0", "data.header should be auto, none or the number of a line from 1, found 0"),
        ("header: true", "found true"),
        ("header: x", 'found the text "x"'),
        ("categories: city", "data.categories should be auto or a list of columns, found the text"),
        ("drop: city", 'data.drop should be a list of columns, found the text "city"'),
        ("drop: [a, a]", "data.drop should name every column once"),
        ("columns: [0]", "data.columns should be the name of a column or its number from 1"),
        ("missing: zero", "data.missing should be one of refuse, drop, mean, median or most_freq"),
        (
            "target: []",
            "data.target should be the name of a column or its number from 1, or a list",
        ),
        ("delimiter: ';;'", "data.delimiter should be auto or a single character"),
    ],
)
def test_what_is_refused(option: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(option)
    (line,) = caught.value.message.splitlines()
    assert message in line
