"""Whether a proposal passes, and in words why (ingredient 4): the same for every policy."""

from __future__ import annotations

import math
from collections.abc import Sequence

from senn_cli.growth.policy import Candidate, Site, sites
from senn_cli.growth.pricing import Price
from senn_cli.growth.settings import Limits, Settings
from senn_cli.nets.features import Architecture


def judged(
    settings: Settings,
    site: Site,
    *,
    delta: float,
    lower: float,
    noise: float,
    eta: float,
    score: float,
    price: Price,
    parameters: float,
    gain: float,
    factor: float = 1.0,
    weights: tuple[float, ...] | None = None,
) -> Candidate:
    """A proposal with its fate: it passes tau and alpha, rises above noise and pays its price.

    Args:
      delta, lower: Delta eta and its lower bound.
      noise: what chance alone would make of Delta eta.
      eta: the score that tau is a share of.
      score: what competes.
      parameters, gain: what it brings, and what it promises to gain.
      factor: how many times tau and alpha it has to pass.
    """
    ratio = score / eta if eta > 0 else (math.inf if score > 0 else 0.0)
    passes = (
        ratio > factor * settings.threshold
        and score > factor * settings.stop
        and delta > settings.noise * noise
        and price.pays(gain, parameters)
    )
    priced = price.price > 0
    return Candidate(
        site=site,
        delta_eta=delta,
        delta_eta_lower=lower,
        bias=noise,
        eta=eta,
        score=score,
        ratio=float(ratio),
        passes=bool(passes),
        weights=weights,
        parameters=parameters if priced else 0.0,
        gain=gain if priced else 0.0,
        factor=factor,
    )


def full(limits: Limits, architecture: Architecture) -> bool:
    """Whether nothing can be added any more, whatever it promises; pruning makes room again."""
    found = sites(architecture, width=limits.widens, depth=limits.deepens)
    room = any(limits.allows(architecture, site.after(architecture)) for site in found)
    return limits.prune is None and not room


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The highest score first."""
    return sorted(candidates, key=lambda c: -c.score)


def why(chosen: Candidate) -> str:
    """Why a candidate is taken."""
    times = "" if chosen.factor == 1 else f"{chosen.factor:g} "
    return f"ratio {chosen.ratio:.3g} > {times}tau and score {chosen.score:.3g} > {times}alpha"


def why_not(best: Candidate | None, settings: Settings, *, poor: bool = False) -> str:
    """Why nothing is taken, given the best candidate.

    Args:
      poor: whether sites are allowed that cannot pay.
    """
    if best is None and poor:
        return f"what is left of the loss pays for no addition at price {settings.price:g}"
    if best is None:
        return "no site allows an addition"
    if best.passes:
        return f"{best.site} passes, but was not drawn"
    threshold, stop = best.factor * settings.threshold, best.factor * settings.stop
    if best.score <= stop:
        return f"score {best.score:.3g} of {best.site} is not above alpha = {stop:g}"
    if best.ratio <= threshold:
        return f"ratio {best.ratio:.3g} of {best.site} is not above tau = {threshold:g}"
    if best.delta_eta <= settings.noise * best.bias:
        return f"Delta eta {best.delta_eta:.3g} of {best.site} is within its noise, {best.bias:.3g}"
    price = settings.price * best.parameters
    if best.gain < price:
        return (
            f"gain {best.gain:.3g} of {best.site} does not pay for its {best.parameters:.3g} "
            f"parameters at price {settings.price:g}: {price:.3g}"
        )
    return f"{best.site} may not grow: a limit forbids it"
