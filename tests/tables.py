"""Tables such as people download, made from nothing: gaps, text, booleans, spaces in numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def passengers(path: Path, rows: int = 90) -> Path:
    """Names, sexes, ages with gaps, fares with separators, booleans, ports, and who survived."""
    rng = np.random.default_rng(1)
    lines = ["PassengerId,Name,Sex,Age,Fare,Alone,Port,Survived"]
    for number in range(1, rows + 1):
        female = rng.random() < 0.5
        age = "" if rng.random() < 0.2 else f"{rng.uniform(1, 70):.1f}"
        fare = rng.uniform(5, 3000)
        written = (
            f'"{int(fare) // 1000},{int(fare) % 1000:03d}.50"' if fare >= 1000 else f"{fare:.2f}"
        )
        port = ("Southampton", "Cherbourg", "NA")[int(rng.choice(3, p=[0.6, 0.3, 0.1]))]
        alone = str(rng.random() < 0.4)
        survived = int(rng.random() < (0.8 if female else 0.2))
        cells = [number, f'"Doe, J. {number}"', "female" if female else "male", age, written]
        lines.append(",".join(map(str, [*cells, alone, port, survived])))
    path.write_text("\n".join(lines) + "\n")
    return path


def houses(path: Path, rows: int = 90) -> Path:
    """Areas such as `1 234`, rooms with gaps, districts, and prices, separated by semicolons."""
    rng = np.random.default_rng(2)
    lines = ["area;rooms;district;garden;price"]
    for _ in range(rows):
        area = rng.uniform(300, 4000)
        written = f"{int(area) // 1000} {int(area) % 1000:03d}" if area >= 1000 else f"{area:.0f}"
        rooms = "?" if rng.random() < 0.1 else str(int(rng.integers(1, 9)))
        district = ("north", "south", "old town")[int(rng.integers(3))]
        garden = ("yes", "no")[int(rng.integers(2))]
        price = 100_000 + 120 * area + rng.normal(0, 9000)
        lines.append(f"{written};{rooms};{district};{garden};{price:.0f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def wines(path: Path, rows: int = 90) -> Path:
    """Numbers alone, under a first line as scikit-learn writes it."""
    rng = np.random.default_rng(3)
    lines = [f"{rows},4,barolo,grignolino,barbera"]
    for _ in range(rows):
        kind = int(rng.integers(3))
        cells = [
            f"{value:.3f}" for value in rng.normal([13 + kind, 2, 20 - kind, 700], [1, 1, 3, 90])
        ]
        lines.append(",".join([*cells, str(kind)]))
    path.write_text("\n".join(lines) + "\n")
    return path
