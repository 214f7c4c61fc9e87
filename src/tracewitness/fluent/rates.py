"""How often runs held, how sure that is, and what follows for runs to come."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from tracewitness.display import plural, show
from tracewitness.errors import UsageError

__all__ = ["Rate", "check_number", "wilson_interval"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

#: The 97.5 % quantile of the normal distribution: a 95 % interval leaves 2.5 % on each side.
_Z = 1.959963984540054


def wilson_interval(held: int, runs: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate.

    Arguments:
        held: how many runs held.
        runs: how many there were, at least 1.

    Source of the formula: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22
    (1927), 209 to 212.

    >>> [round(bound, 3) for bound in wilson_interval(9, 10)]
    [0.596, 0.982]
    """
    rate, square = held / runs, _Z * _Z
    centre = rate + square / (2 * runs)
    spread = _Z * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs))
    scale = 1 + square / runs
    # The outer bounds are exact; rounding must not move them past the rate.
    low = (centre - spread) / scale if held else 0.0
    high = (centre + spread) / scale if held < runs else 1.0
    return low, high


class Rate(Struct, frozen=True):
    """How many of several runs held.

    Attributes:
        held: how many held.
        runs: how many there were, at least 1.
    """

    held: int
    runs: int

    @property
    def share(self) -> float:
        """The share that held."""
        return self.held / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The share's 95 % interval, by `wilson_interval`."""
        return wilson_interval(self.held, self.runs)

    def pass_at(self, k: int) -> float:
        """Estimate how likely at least one of ``k`` runs holds: pass@k.

        ``1 - C(n - c, k) / C(n, k)`` for ``c`` of ``n`` runs that held. Source: M. Chen et al., Evaluating Large
        Language Models Trained on Code (2021), equation 1.
        """
        check_number("k", k, 1, self.runs)
        return 1 - math.comb(self.runs - self.held, k) / math.comb(self.runs, k)

    def pass_hat(self, k: int) -> float:
        """Estimate how likely all of ``k`` runs hold: pass^k.

        ``C(c, k) / C(n, k)`` for ``c`` of ``n`` runs that held. Source: S. Yao et al., τ-bench (2024), section 3.
        """
        check_number("k", k, 1, self.runs)
        return math.comb(self.held, k) / math.comb(self.runs, k)

    def ks(self) -> list[int]:
        """Return the numbers of runs that are worth a line: 1, 2, 5 and so on, and all."""
        return sorted({k for k in (1, 2, 5, 10, 20, 50, 100) if k < self.runs} | {self.runs})

    def lines(self) -> Iterator[str]:
        """Yield a line that is `str` of it, and one for each number of runs that is worth it.

        >>> print(*Rate(1, 2).lines(), sep="\\n")
        1 of 2 runs held (rate 0.50, 95 % interval 0.09 to 0.91)
        pass@1 0.50, pass^1 0.50
        pass@2 1.00, pass^2 0.00
        """
        yield str(self)
        for k in self.ks():
            yield f"pass@{k} {self.pass_at(k):.2f}, pass^{k} {self.pass_hat(k):.2f}"

    def __str__(self) -> str:
        low, high = self.interval
        numbers = f"rate {self.share:.2f}, 95 % interval {low:.2f} to {high:.2f}"
        return f"{self.held} of {plural(self.runs, 'run')} held ({numbers})"


def check_number(name: str, value: object, low: int, high: float) -> None:
    """Make sure that a value is a whole number of a range.

    Raises:
        UsageError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        range_ = f"from {low} to {high}" if high < math.inf else f"of {low} or more"
        raise UsageError(f"{name} is a whole number {range_}, not {show(value)}")
