"""Wrong runs made of right ones: what an agent could have done instead, one fault at a time."""

from tracewitness.mutation.equivalence import NOTHING, Declared
from tracewitness.mutation.mutations import KINDS, Mutant, mutants, shares
from tracewitness.mutation.tool_definitions import declared_defaults

__all__ = ["KINDS", "NOTHING", "Declared", "Mutant", "declared_defaults", "mutants", "shares"]
