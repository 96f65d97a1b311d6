from __future__ import annotations

from senn_cli.cli.inspection.columns import Column, lay_out
from senn_cli.cli.inspection.screen import Screen

NUMBERS = Column("n", ["1", "20"], right=True)
NAMES = Column("name", ["a", "bcdef"])


def laid_out(columns: list[Column], width: int) -> list[str]:
    return [text for text, _ in lay_out(columns, Screen(width, "utf-8"))]


def test_numbers_stand_on_the_right() -> None:
    assert laid_out([NUMBERS, NAMES], 80) == [" n  name", " 1  a", "20  bcdef"]


def test_the_highest_rank_is_left_out_first() -> None:
    wide = [NUMBERS, Column("five", ["x" * 5] * 2, rank=5), Column("six", ["y" * 4] * 2, rank=6)]
    assert laid_out(wide, 15)[1] == " 1  xxxxx  yyyy"
    assert laid_out(wide, 14)[1] == " 1  xxxxx"
    assert laid_out(wide, 8)[1] == " 1"


def test_before_what_matters_goes_columns_move_together() -> None:
    pair = [NUMBERS, Column("one", ["xxx"] * 2, rank=1)]
    assert laid_out(pair, 7)[1] == " 1  xxx"
    assert laid_out(pair, 6)[1] == " 1 xxx"
    assert laid_out(pair, 5)[1] == " 1"


def test_a_column_without_any_text_takes_no_room() -> None:
    assert laid_out([NUMBERS, Column("empty", ["", ""], rank=1)], 80)[0] == " n"


def test_a_text_is_folded_into_the_room_that_is_left() -> None:
    reason = "one two three four five six seven eight"
    lines = laid_out([NUMBERS, Column("why", [reason, "short"], folds=True)], 30)
    assert lines[0] == " n  why"
    assert lines[1].startswith(" 1  one two")
    assert lines[2].startswith("    ")
    assert " ".join(line[4:] for line in lines[1:3]) == reason
    assert lines[3] == "20  short"
    assert max(map(len, lines)) <= 30
    assert laid_out([NUMBERS, Column("why", [reason, ""], folds=True)], 1000)[1] == f" 1  {reason}"


def test_styles_and_notes() -> None:
    lines = lay_out([NUMBERS], Screen(80, "utf-8"), ["", "dim"], {1: "between"})
    assert lines == [(" n", "bold"), (" 1", ""), ("between", "dim"), ("20", "dim")]


def test_ten_thousand_rows_keep_their_order() -> None:
    many = [str(index) for index in range(10_000)]
    assert laid_out([Column("n", many)], 80) == ["n", *many]
