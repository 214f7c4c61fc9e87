"""Fisher's exact test of two rates."""

from __future__ import annotations

from fractions import Fraction
from math import comb

__all__ = ["fisher_exact", "least_p_value"]


def fisher_exact(passed: int, failed: int, other_passed: int, other_failed: int) -> Fraction:
    """Return how likely two rates differ at least so much by chance alone: the two-sided p-value, exact.

    With both numbers of runs and the number of all that passed given, the number of those that passed on one side has a
    hypergeometric distribution. The p-value is the probability of all tables that are no likelier than the one seen.

    Arguments:
        passed, failed: how many runs passed and failed on one side.
        other_passed, other_failed: the same of the other.

    Source: R. A. Fisher, *The Design of Experiments* (1935), chapter II; two-sided as in G. H. Freeman and
    J. H. Halton, Biometrika 38 (1951), and as `fisher.test` of R and `scipy.stats.fisher_exact` have it.

    >>> fisher_exact(3, 1, 1, 3)
    Fraction(17, 35)
    """
    runs, other_runs, all_passed = passed + failed, other_passed + other_failed, passed + other_passed
    least, most = max(0, all_passed - other_runs), min(runs, all_passed)
    ways = [comb(runs, count) * comb(other_runs, all_passed - count) for count in range(least, most + 1)]
    seen = ways[passed - least]
    return Fraction(sum(way for way in ways if way <= seen), sum(ways))


def least_p_value(runs: int, other_runs: int) -> Fraction:
    """Return the smallest p-value that so many runs can have: of all that passed against none that did.

    >>> least_p_value(3, 3)
    Fraction(1, 10)
    """
    return fisher_exact(runs, 0, 0, other_runs)
