"""Finding the name that was meant: close spellings, beginnings, and words that others use."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Names from other tools and from the paper, by what they are called here.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "lr": ("learning_rate",),
    "step_size": ("learning_rate",),
    "wd": ("weight_decay",),
    "decay": ("weight_decay",),
    "l2": ("weight_decay",),
    "tau": ("threshold",),
    "alpha": ("stop",),
    "earlystopping": ("stop",),
    "patience": ("stop",),
    "bs": ("batch_size",),
    "batch": ("batch_size",),
    "max_epochs": ("epochs",),
    "num_epochs": ("epochs",),
    "max_steps": ("steps",),
    "iterations": ("steps",),
    "beta1": ("b1",),
    "beta2": ("b2",),
    "betas": ("b1",),
    "epsilon": ("eps",),
    "dataset": ("data", "source"),
    "model": ("network",),
    "growth": ("expansion",),
    "type": ("kind", "source"),
    "name": ("kind", "source"),
    "layers": ("hidden",),
    "units": ("hidden",),
    "sizes": ("hidden",),
    "file": ("path",),
    "label": ("target", "targets"),
    "labels": ("target", "targets"),
    "separator": ("delimiter",),
    "sep": ("delimiter",),
    "random_seed": ("seed",),
    "cooldown": ("every",),
    "momentum_decay": ("momentum",),
}


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely stands for, or None."""
    # Spellings are compared without regard to case, `-` and `_`.
    names = {_plain(each): each for each in known}
    plain = _plain(name)
    if plain in names:
        return names[plain]
    for other in _SYNONYMS.get(plain, ()):
        if other in names:
            return names[other]
    if len(plain) < 2:
        return None
    near = difflib.get_close_matches(plain, names, n=1, cutoff=0.65)
    if near:
        return names[near[0]]
    # The beginning of one alone, or its last word: `accuracy` is `validation_accuracy`.
    longer = [e for e in names if e.startswith(plain) or e.endswith(f"_{plain}")]
    return names[longer[0]] if len(longer) == 1 and len(plain) >= 3 else None


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
