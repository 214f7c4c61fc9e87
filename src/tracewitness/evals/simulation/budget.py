"""What a simulation may use of models: when it is used up, no new run begins."""

from __future__ import annotations

from tracewitness.evals.simulation.conversation import Usage

__all__ = ["Budget"]


class Budget:
    """Counts what runs used against what they may use.

    Arguments:
        max_cost: in US dollars; None for no limit.
        max_tokens: tokens in and out together; None for no limit.

    Attributes:
        used: what was used so far.
    """

    def __init__(self, max_cost: float | None = None, max_tokens: int | None = None) -> None:
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self.used = Usage()
        self._tokens_are_known = True

    def add(self, usage: Usage) -> None:
        """Count what a model was used for. Requests that took no token were answered without a count of them."""
        self.used += usage
        if usage.requests and not usage.input_tokens + usage.output_tokens:
            self._tokens_are_known = False

    def why_used_up(self) -> str | None:
        """Say why no new run may begin; None where one may.

        A cost, or a number of tokens, that is not known can't be kept within a limit, so it ends the budget too.
        """
        tokens = self.used.input_tokens + self.used.output_tokens
        if self._max_tokens is not None and tokens >= self._max_tokens:
            return f"{tokens:,} of {self._max_tokens:,} tokens are used up; --max-tokens sets the limit"
        if self._max_tokens is not None and not self._tokens_are_known:
            return "how many tokens a model uses is not known, so --max-tokens can't be kept; its server does not tell"
        if self._max_cost is None:
            return None
        if self.used.cost is None:
            return "what a model costs is not known, so --max-cost can't be kept; use --max-tokens"
        if self.used.cost >= self._max_cost:
            return f"${self.used.cost:.4f} of ${self._max_cost:.4f} are used up; --max-cost sets the limit"
        return None
