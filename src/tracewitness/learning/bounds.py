"""How often a check that held on all runs could still break on a good one: what the number of runs allows to say.

A check that was written before the runs and held on all `n` of them breaks on more than a share `p` of such runs only
if a thing of chance ``(1 - p) ** n`` has happened. At 95 % that is ``p = 1 - 0.05 ** (1 / n)``, about ``3 / n``, the
rule of three: J. A. Hanley and A. Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, JAMA 249 (1983),
1743 to 1745.

A check that was made of the runs is not tested by those that decided what it says. If `d` of `n` decide it, it is
tested by the others alone, and there are ``comb(n, d)`` ways in which it could have been made: N. Littlestone and
M. Warmuth, Relating Data Compression and Learnability (1986); S. Floyd and M. Warmuth, Sample Compression,
Learnability, and the Vapnik-Chervonenkis Dimension, Machine Learning 21 (1995), 269 to 304. With ``d = 0`` it is the
rule of three. All of it takes the runs for independent, and those to come for such as were recorded.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["bound_of_all", "bound_of_one"]

#: What is left to chance: the bounds hold at 95 %.
_LEFT: Final = 0.05


def bound_of_one(runs: int, deciding: int) -> float:
    """Bound how often one check breaks on good runs, at 95 %. It is of this check alone, whichever it is.

    Arguments:
        runs: how many runs it held on.
        deciding: how many of them decided what it says.

    >>> round(bound_of_one(100, 0), 3), round(bound_of_one(100, 1), 3), bound_of_one(1, 1)
    (0.03, 0.074, 1.0)
    """
    return _bound(runs, deciding, 0.0)


def bound_of_all(runs: int, deciding: int, chosen: int, considered: int) -> float:
    """Bound how often at least one of the chosen checks breaks on good runs, at 95 %.

    It allows for the choice: the checks may be any so many of those that were considered, and any runs may have
    decided.

    Arguments:
        runs: how many runs all checks held on.
        deciding: how many of them decided what the checks say.
        chosen: how many checks there are.
        considered: of how many they were chosen.

    >>> round(bound_of_all(1000, 2, 5, 50), 3), bound_of_all(3, 3, 1, 1)
    (0.037, 1.0)
    """
    ways = math.log(runs + 1) + _log_comb(considered, chosen)
    return _bound(runs, deciding, ways)


def _bound(runs: int, deciding: int, log_ways: float) -> float:
    testing = runs - deciding
    if testing <= 0:
        return 1.0
    return -math.expm1((math.log(_LEFT) - _log_comb(runs, deciding) - log_ways) / testing)


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
