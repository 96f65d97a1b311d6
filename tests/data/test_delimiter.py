from __future__ import annotations

import pytest

from senn_cli.data.delimiter import sniff


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,2", ","),
        ("a;b;c\n1,5;2,5;3", ";"),  # decimal commas
        ("1,5;2,5\n3,5;4,5", ";"),
        ('a,b\n1,"x;y"\n2,"z;w"', ","),
        ("name,what\nA,x;y\nB,z", ","),
        ("150,4,one,two,three\n" + "1,2,3,4,5,6\n" * 20, ","),  # the first line is no header
        ('a|b\n"1|2"|3\n4|5', "|"),
        ("a b\n1 2\n3 4", " "),
        ("a\nNew York\nRome", ","),  # a single column of text
        ("a\n1\n2", ","),
        ("a,b\n1,2\n3", ","),
        ("", ","),
    ],
)
def test_what_separates_cells(text: str, found: str) -> None:
    assert sniff(text.splitlines(keepends=True)) == found
