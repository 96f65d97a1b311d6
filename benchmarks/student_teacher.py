"""Does GradMax learn a teacher sooner than random directions? The set-up of Evci et al. (2022).

    python benchmarks/student_teacher.py --repeats 10

1,000 inputs from N(0, 1) in 10 dimensions; a teacher of 10 hidden and 10 output units whose weights
are uniform in (-1, 1), without biases; a rectifier whose gradient at 0 is 1. Students begin with 5
hidden units and get one every 200 steps until they have 10, then have 500 steps more; all by full
gradients of the mean squared error at rate 0.1, from the same weights. New units read nothing and
are read by weights of half the mean length: in the direction that `growth.directions.steepest`
finds, or in a random one. Controls keep 5 units, or have 10 from the beginning. Double precision in
NumPy; seconds. Prints every repeat, then means with standard errors.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from senn_cli.growth.directions import steepest

N, INPUTS, TEACHER, OUTPUTS = 1000, 10, 10, 10
START, END, EVERY, REST, RATE = 5, 10, 200, 500, 0.1
WAYS = ("gradmax", "random", "small", "big")


class Student(NamedTuple):
    """Input weights `(inputs, k)` and output weights `(k, outputs)`."""

    incoming: np.ndarray
    outgoing: np.ndarray


class Event(NamedTuple):
    """A unit's coming: how long its gradient is, one of a random direction, and the identity's."""

    length: float
    chance: float
    singular: float


def slope(z: np.ndarray) -> np.ndarray:
    """Of the rectifier, 1 at 0."""
    return (z >= 0).astype(z.dtype)


def yielded(net: Student, x: np.ndarray) -> np.ndarray:
    """What a network yields."""
    found: np.ndarray = np.maximum(x @ net.incoming, 0) @ net.outgoing
    return found


def told(net: Student, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of every example's loss on the outputs, `(N, outputs)`."""
    return 2 * (yielded(net, x) - y) / y.shape[1]


def gradient(net: Student, x: np.ndarray, y: np.ndarray) -> Student:
    """That of the mean squared error."""
    z, g = x @ net.incoming, told(net, x, y)
    back = g @ net.outgoing.T * slope(z)
    return Student(x.T @ back / len(x), np.maximum(z, 0).T @ g / len(x))


def trained(net: Student, x: np.ndarray, y: np.ndarray, steps: int) -> Student:
    """After some steps of gradient descent."""
    for _ in range(steps):
        step = gradient(net, x, y)
        net = Student(*(w - RATE * g for w, g in zip(net, step, strict=True)))
    return net


def widened(
    net: Student, x: np.ndarray, y: np.ndarray, way: str, rng: np.random.Generator
) -> tuple[Student, Event]:
    """The student with one more unit, which reads nothing."""
    moment = x.T @ told(net, x, y) / len(x)
    length = 0.5 * float(np.mean(np.linalg.norm(net.outgoing, axis=1)))
    drawn = rng.standard_normal((1, OUTPUTS))
    drawn *= length / np.linalg.norm(drawn)
    best, values = steepest(moment, 1)
    omega = length * best if way == "gradmax" else drawn
    incoming = np.hstack([net.incoming, np.zeros((INPUTS, 1))])
    new = Student(incoming, np.vstack([net.outgoing, omega]))
    own = float(np.linalg.norm(gradient(new, x, y).incoming[:, -1]))
    chance = float(np.linalg.norm(moment @ drawn[0]))
    return new, Event(own, chance, length * float(values[0]))


def run(seed: int) -> tuple[dict[str, float], list[Event]]:
    """The final losses by the way to grow, and GradMax's events."""
    rng = np.random.default_rng(seed)
    shapes = ((INPUTS, TEACHER), (TEACHER, OUTPUTS))
    teacher = Student(*(rng.uniform(-1, 1, shape) for shape in shapes))
    x = rng.standard_normal((N, INPUTS))
    y = yielded(teacher, x)
    shapes = ((INPUTS, END), (END, OUTPUTS))
    whole = Student(*(rng.uniform(-1, 1, s) / np.sqrt(s[0]) for s in shapes))
    small = Student(whole.incoming[:, :START], whole.outgoing[:START])
    losses, events = {}, list[Event]()
    for way in WAYS:
        net, draws = (whole if way == "big" else small), np.random.default_rng((seed, 1))
        for _ in range(END - START):
            net = trained(net, x, y, EVERY)
            if way in ("gradmax", "random"):
                net, event = widened(net, x, y, way, draws)
                events += [event] if way == "gradmax" else []
        losses[way] = float(np.mean((yielded(trained(net, x, y, REST), x) - y) ** 2))
    return losses, events


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    found = []
    for seed in range(repeats):
        losses, events = run(seed)
        found.append(losses)
        above = sum(event.length > event.chance for event in events)
        ratio = np.mean([event.length / event.chance for event in events])
        told = ", ".join(f"{way} {loss:.4f}" for way, loss in losses.items())
        print(f"seed {seed}: {told}; gradient above at {above} of {len(events)}, x{ratio:.2f}")
    for way in WAYS:
        values = [losses[way] for losses in found]
        error = np.std(values, ddof=1) / np.sqrt(repeats) if repeats > 1 else 0.0
        print(f"{way:8} {np.mean(values):.4f} +- {error:.4f}")


if __name__ == "__main__":
    main()
